/**
 * Deliberate faults of the page: each is one small edit of `web/src` that the flow named with it must notice.
 *
 * `old` stands exactly once in the file (`faults.test.ts`). `node tests/faults/run.mjs` applies them one by one.
 */

export interface Fault {
  /** What would go wrong for a user. */
  readonly name: string;
  /** Under web/src. */
  readonly file: string;
  readonly old: string;
  readonly new: string;
  /** The file of tests, without ".test.ts", and the flow's whole name. */
  readonly flow: readonly [file: string, name: string];
}

export const FAULTS: readonly Fault[] = [
  // ---- the flows of `make test` ----
  {
    name: "grey text is too pale on the light ground", file: "ui/tokens.css",
    old: "--text-2: light-dark(#565967, #a9acba);", new: "--text-2: light-dark(#9a9cab, #a9acba);",
    flow: ["axe", "axe finds nothing serious on the main views in the light theme"],
  },
  {
    name: "grey text is too dim on the dark ground", file: "ui/tokens.css",
    old: "--text-2: light-dark(#565967, #a9acba);", new: "--text-2: light-dark(#565967, #5a5d6b);",
    flow: ["axe", "axe finds nothing serious on the main views in the dark theme"],
  },
  {
    name: "what is copied does not come into the clipboard as text", file: "commands/clipboard_events.ts",
    old: 'event.clipboardData?.setData("text/plain", text);', new: 'event.clipboardData?.setData("text/html", text);',
    flow: ["clipboard", "nodes are copied from one tab into another as the text of a workflow"],
  },
  {
    name: "another page's draft is written over without asking", file: "state/keeper.ts",
    old: "if (ours.some((document) => document !== undefined && sameJson(document, theirs.document))) {", new: "if (ours.length > 0) {",
    flow: ["conflict", "two tabs that edit one draft are asked whose counts, and nobody's text is lost"],
  },
  {
    name: "the workflow in a picture is passed over", file: "drop/take.tsx",
    old: "if (workflow !== undefined) return { upload, workflow };", new: "if (workflow === null) return { upload, workflow };",
    flow: ["drop", "a dropped picture opens the workflow that it carries, and one without becomes an input"],
  },
  {
    name: "a drag is two steps of undo", file: "canvas/moving.ts",
    old: "useDocuments.getState().apply(title, (document) => edits.reduce((now, edit) => edit(now), document), null, done.document);",
    new: `for (const part of [0.5, 1]) useDocuments.getState().apply("canvas.moved", (document) => moveItems(done.scene.scope,
    Object.fromEntries(Object.entries(places).map(([id, { x, y }]) => [id, { x: Math.round(x * part), y: Math.round(y * part) }])))(document));`,
    flow: ["edit", "every gesture is one step: undone to the first byte, done again to the last"],
  },
  {
    name: "no preview is shown while it samples", file: "canvas/NodePreview.tsx",
    old: "return isWanted && isUnfinished && isThere ?", new: "return isWanted && !isUnfinished && isThere ?",
    flow: ["first_run", "a new user finds the mini workflow, runs it by one click, sees it come and has the picture"],
  },
  {
    name: "Enter on a port does not begin a wire", file: "canvas/PortButton.tsx",
    old: 'if (event.key === "Enter" || event.key === " ") {', new: 'if (event.key === " ") {',
    flow: ["keyboard", "a text-to-image graph is built and run by keyboard alone"],
  },
  {
    name: "what is typed while the server is away is not kept in the browser", file: "state/keeper.ts",
    old: "return keepMirror({ id: this.id, ...content, etag: this.etag, sent: this.#unanswered });", new: "return Promise.resolve();",
    flow: ["killed", "a server killed during editing loses nothing that is typed, and the page goes on by itself"],
  },
  {
    name: "a run is not followed any more when the connection is back", file: "api/socket.ts",
    old: "for (const stream of this.places.keys()) this.asked.add(stream);", new: "",
    flow: ["killed", "a server killed during a run is waited for, and the run ends once"],
  },
  {
    name: "which jobs a draft has run is forgotten by a reload", file: "state/memory.ts",
    old: "localStorage.setItem(PREFIX + draft, JSON.stringify(kept));", new: "",
    flow: ["reload", "a page that is loaded again during a run shows it on, with its preview, to its end"],
  },
  {
    name: "the language is forgotten by a reload", file: "state/preferences.ts",
    old: 'keep("language", oneOf(...LANGUAGES));', new: "",
    flow: ["language", "the language is changed in the settings, and stays after a reload"],
  },

  // ---- long ----
  {
    name: "cancelling cancels nothing", file: "state/run.ts",
    old: "await Promise.all(openJobs(active.id).map(cancelQuietly));", new: "",
    flow: ["long", "a run that is cancelled says so on its node and in the queue"],
  },
  {
    name: "another version than the one chosen is brought back", file: "state/workflows.ts",
    old: "await restoreVersion(name, version, etag);", new: "await restoreVersion(name, version + 1, etag);",
    flow: ["long", "saving makes a version, and an earlier one is brought back"],
  },
  {
    name: "missing node types are not told", file: "state/missing.ts",
    old: "if (type === undefined) types.add(node.type);", new: "",
    flow: ["long", "a node whose type is missing is shown, and keeps all it holds while others are edited"],
  },
  {
    name: "a subgraph does not come apart again", file: "commands/unpack_subgraph.ts",
    old: '"edit.unpack_subgraph", (document) => ids.reduce(', new: '"edit.unpack_subgraph", (document) => ids.slice(1).reduce(',
    flow: ["long", "nodes become a subgraph that runs the same, and come out of it again"],
  },
  {
    name: "the form shows no picture of what it ran", file: "panels/parameters/Result.tsx",
    old: 'if (output?.kind === "image") {', new: 'if (output?.kind === "picture") {',
    flow: ["long", "a phone fills in the form and gets its picture"],
  },
  {
    name: "a sweep varies only its first input", file: "state/sweep.ts",
    old: "({ ...valued(first, a), ...valued(second, b) })", new: "valued(first, a)",
    flow: ["long", "a sweep over two inputs shows a labelled grid of pictures, and two of them are compared"],
  },
  {
    name: "what lies in a frame is not chosen with it", file: "commands/here.ts",
    old: "return [...new Set([...at.nodes, ...framed])];", new: "return framed.length > 99 ? framed : at.nodes;",
    flow: ["long", "a muted frame mutes all nodes in it"],
  },
  {
    name: "a file that was changed on disk is noticed a minute later", file: "state/current.ts",
    old: 'if (events.some((event) => event.event === "workflows")) void refreshAll();', new: "",
    flow: ["long", "a saved workflow that another program changes is loaded again"],
  },

  // ---- long_editing ----
  {
    name: "a double click adds elsewhere", file: "canvas/Surface.tsx",
    old: "else openAddNode(at === undefined ? {} : { at });", new: "else openAddNode({});",
    flow: ["long_editing", "a double click on the ground adds a node there"],
  },
  {
    name: "a dropped wire lists all node types", file: "canvas/linking.ts",
    old: "openAddNode({ at: now.at, from: now.from });", new: "openAddNode({ at: now.at });",
    flow: ["long_editing", "a wire dropped on the ground lists what fits, and what is chosen is wired"],
  },
  {
    name: "node types used last are not remembered", file: "state/preferences.ts",
    old: "recentTypes: [type, ...recentTypes.filter((one) => one !== type)].slice(0, 12),", new: "recentTypes,",
    flow: ["long_editing", "types are found by their ports, in categories, and those used last come first"],
  },
  {
    name: "no converter is offered", file: "canvas/linking.ts",
    old: 'say(verdict.reason, { kind: "warn", ...(action && { action }) });', new: 'say(verdict.reason, { kind: "warn" });',
    flow: ["long_editing", "a wire that is refused says the validator's sentence, and offers what converts"],
  },
  {
    name: "a node dropped on a wire only lies on it", file: "canvas/moving.ts",
    old: "if (wire !== null && done.loose !== null) edits.push(", new: "if (wire !== null && done.loose === null) edits.push(",
    flow: ["long_editing", "a loose node that is dropped on a wire goes into it"],
  },
  {
    name: "a point of a wire cannot be taken out", file: "canvas/Wires.tsx",
    old: "pairs(wire).toSpliced(index, 1)", new: "pairs(wire).toSpliced(index, 0)",
    flow: ["long_editing", "a wire is led through a point that is drawn elsewhere and taken out, and no node knows"],
  },
  {
    name: "a frame moves without its nodes", file: "canvas/moving.ts",
    old: "for (const id of [...dragged, ...[...dragged].flatMap((one) => contentOf(scene, one))]) {", new: "for (const id of dragged) {",
    flow: ["long_editing", "a frame has a title and a colour, and carries its nodes"],
  },
  {
    name: "a node that is bypassed stays so", file: "commands/state_of_nodes.ts",
    old: "haveAll ? null : state", new: "haveAll ? state : state",
    flow: ["long_editing", "a bypassed node says so, and is not when it is asked again"],
  },
  {
    name: "pasting keeps links that were not asked for", file: "model/clipboard.ts",
    old: "return this.withLinks && Object.hasOwn(scope.nodes, source)", new: "return Object.hasOwn(scope.nodes, source)",
    flow: ["long_editing", "nodes are pasted with their links or without"],
  },
  {
    name: "distributed nodes touch", file: "model/align.ts",
    old: "next += box[size] + gap;", new: "next += box[size];",
    flow: ["long_editing", "a marquee selects, and what is selected is aligned and distributed"],
  },
  {
    name: "a layout is a step of undo for each node", file: "commands/laying_out.ts",
    old: "useDocuments.getState().apply(title, (document) => edits.reduce((edited, edit) => edit(edited), document), null, one.id);",
    new: "for (const [id, place] of Object.entries(places)) useDocuments.getState().apply(title, moveItems(at.scopeId, { [id]: place }), null, one.id);",
    flow: ["long_editing", "the layout puts every node after what it takes, in one step"],
  },
  {
    name: "a collapsed node cannot be expanded", file: "canvas/NodeBox.tsx",
    old: "{ collapsed: !isCollapsed }", new: "{ collapsed: true }",
    flow: ["long_editing", "a collapsed node is its title, and its wires stay"],
  },
  {
    name: "what is written into a note is lost", file: "canvas/NoteBox.tsx",
    old: "setNote(scope, note.id, { text })", new: "setNote(scope, note.id, { text: note.text })",
    flow: ["long_editing", "a note is put down, written and read again"],
  },
  {
    name: "keys are not found in the list of keys", file: "palette/Shortcuts.tsx",
    old: '${row.title} ${row.keys.join(" ")}', new: "${row.title}",
    flow: ["long_editing", "commands are found by what they are called, and keys by what they do"],
  },
  {
    name: "zooming to the selection shows everything", file: "canvas/CameraHolder.tsx",
    old: ": [...ids].flatMap((id) => shown.items.get(id) ?? []);", new: ": [...shown.items.values()];",
    flow: ["long_editing", "the selection and everything are brought into view, and the overview leads elsewhere"],
  },
  {
    name: "a long press asks for nothing", file: "menus/longpress.ts",
    old: "timer = setTimeout(() => ask(event), LONG_MS);", new: "",
    flow: ["long_editing", "touch pans, zooms and opens menus"],
  },
  {
    name: "links to a subgraph do not follow the name of its port", file: "model/interface.ts",
    old: 'if (id === "") return renamed;', new: 'if (id !== "?") return renamed;',
    flow: ["long_editing", "the ports of a subgraph are named, added and taken away, and its links follow"],
  },
  {
    name: "nodes without places lie on a heap", file: "canvas/scene.ts",
    old: "const x = view.x ?? place?.x ?? 0;", new: "const x = view.x ?? 0;",
    flow: ["long_editing", "a document that was written by hand, without places, is laid out"],
  },

  // ---- long_results ----
  {
    name: "a star is not kept by the server", file: "state/gallery.ts",
    old: "(starred ? starOutput(id) : unstarOutput(id));", new: "Promise.resolve();",
    flow: ["long_results", "the gallery is filtered by words, workflow and star, and stars are kept by the server"],
  },
  {
    name: "keeping a result deletes it", file: "panels/gallery/ConfirmDelete.tsx",
    old: "<Button onClick={close}>", new: "<Button onClick={() => void act()}>",
    flow: ["long_results", "a result is deleted for good once that is confirmed, and not before"],
  },
  {
    name: "a download without notes has them", file: "panels/gallery/actions.ts",
    old: 'metadata === "none" ? { metadata } : {}', new: "metadata === null ? { metadata } : {}",
    flow: ["long_results", "a picture is downloaded with its notes, and without them with the same pixels"],
  },
  {
    name: "zooming in zooms out", file: "viewer/zoom.ts",
    old: "Math.max(LEAST, before * factor)", new: "Math.max(LEAST, before / factor)",
    flow: ["long_results", "the large view zooms, says what the picture was made with, and goes on to the older one"],
  },
  {
    name: "the slider cuts nothing", file: "viewer/Compare.tsx",
    old: "`inset(0 ${100 - share}% 0 0)`", new: "`inset(0 ${share - share}% 0 0)`",
    flow: ["long_results", "two results are compared side by side and by slider, with what differs in their inputs"],
  },
  {
    name: "a whole workflow is pasted into the one that is shown", file: "commands/fragments.ts",
    old: "else if (isWhole(read.document) && !withLinks)", new: "else if (isWhole(read.document) && withLinks)",
    flow: ["long_results", "the JSON of a whole workflow that is pasted opens in a tab of its own"],
  },
  {
    name: "a mask is black where it was painted", file: "painter/draw.ts",
    old: "found[index] = data[index * 4 + 3] ?? 0;", new: "found[index] = 255 - (data[index * 4 + 3] ?? 0);",
    flow: ["long_results", "a mask painted on a picture of the gallery is uploaded, and wired to the only port that takes one"],
  },
  {
    name: "a mask for a node begins empty though it has one", file: "painter/strokes.ts",
    old: '{ ...painting, deeds: [{ kind: "given", mask }, ...painting.deeds] }', new: "{ ...painting, ...(mask === null && { deeds: [] }) }",
    flow: ["long_masks", "paints a mask and inpaints"],
  },
  {
    name: "an untitled workflow is not kept", file: "state/saving.ts",
    old: "return one.saved === null ? pristine[one.id]?.document !== document :", new: "return one.saved === null ? pristine === null :",
    flow: ["long_results", "an untitled workflow is kept within a second or so, and is there after the browser was closed"],
  },
  {
    name: "keeping mine does not save it", file: "state/workflows.ts",
    old: "          await save(id);\n          return;", new: "          return;",
    flow: ["long_results", "saving over what another program has saved asks, and keeping mine makes theirs a version"],
  },
  {
    name: "a taken name cannot be replaced", file: "state/workflows.ts",
    old: "over === undefined ? { create: true } : { match: over }", new: "over === null ? { match: over } : { create: true }",
    flow: ["long_results", "saving under a name that is taken asks before anything is replaced"],
  },
  {
    name: "an export is not what the program writes", file: "documents/actions.tsx",
    old: "downloadJson(writeDocument(one.history.document), fileNameOf(one))", new: "downloadJson(JSON.stringify(one.history.document), fileNameOf(one))",
    flow: ["long_results", "a workflow is imported from a file and exported with the bytes that the program itself writes"],
  },
  {
    name: "templates have no pictures", file: "documents/Thumbnail.tsx",
    old: "    paint();\n    const dark", new: "    const dark",
    flow: ["long_results", "a template is chosen by its picture and opens as a workflow of one's own"],
  },
  {
    name: "what is filled in is not taken", file: "panels/parameters/Form.tsx",
    old: "fillIn(field, value)", new: "fillIn(field, field.value)",
    flow: ["long_results", "the parameter panel fills in the workflow, runs it and shows the result"],
  },
  {
    name: "changed inputs are no differences", file: "model/diff.ts",
    old: "each<Json>(before.inputs, after.inputs)", new: "each<Json>(before.inputs, before.inputs)",
    flow: ["long_results", "the differences between a saved version and what is open are listed"],
  },
  {
    name: "things move where no motion is wanted", file: "ui/tokens.css",
    old: "animation: none !important; transition: none !important;", new: "",
    flow: ["long_results", "nothing moves by itself where reduced motion is asked for, and something does where it is not"],
  },
  {
    name: "the theme that the server keeps is not taken", file: "state/preferences.ts",
    old: 'keep("theme", oneOf("system", "light", "dark"));', new: "",
    flow: ["long_results", "the theme that is chosen is kept by the server for other browsers, and System follows theirs"],
  },

  // ---- long_running ----
  {
    name: "running up to a node runs everything", file: "commands/run_here.ts",
    old: "return runActive(targetsOf(document, selectedPaths()));", new: "return runActive();",
    flow: ["long_running", "a run up to a node computes what that node needs and nothing below it"],
  },
  {
    name: "running an output runs the whole node", file: "commands/run_output.ts",
    old: "runActive([`${path}.${port}`])", new: "runActive([port === \"\" ? port : path])",
    flow: ["long_running", "a run of one output computes that output alone"],
  },
  {
    name: "what lies below an edit is not marked", file: "state/stale.ts",
    old: "if (sameNode(node, other) && fromAbove.size === 0) continue;", new: "if (sameNode(node, other)) continue;",
    flow: ["long_running", "an edit marks what is below it at once, and the plan then says what is cached, what runs and which input changed"],
  },
  {
    name: "a failed node does not lead to the log", file: "canvas/NodeStatus.tsx",
    old: '{row.state === "failed" && <InLog />}', new: '{row.state === "cancelled" && <InLog />}',
    flow: ["long_running", "an error stands on its node and leads to the job's record"],
  },
  {
    name: "only what was remembered can be looked at", file: "canvas/OutputEye.tsx",
    old: '(row.state === "done" || row.state === "cached")', new: '(row.state === "cached")',
    flow: ["long_running", "a picture, a number, a text and a shape are looked at in place after a run, and nothing is published for it"],
  },
  {
    name: "earlier puts a job later", file: "state/queue.ts",
    old: "by < 0 ? { before: other.id } : { after: other.id }", new: "{ after: other.id }",
    flow: ["long_running", "the queue is paused, put in order, thinned out and cleared, and goes on"],
  },
  {
    name: "a job opened as a run shows no states", file: "state/queue.ts",
    old: "changeMemory(id, (memory) => ({ ...memory, opened: job.id }));", new: "",
    flow: ["long_running", "a job of another client appears in the queue and is opened as a run"],
  },
  {
    name: "changes do not run by themselves", file: "state/run.ts",
    old: "if (!isEdit || !useRunSettings.getState().onChange) return;", new: "if (!isEdit || useRunSettings.getState().onChange) return;",
    flow: ["long_running", "each change runs by itself while that is wished, and no longer"],
  },
  {
    name: "another seed than the one shown is kept", file: "canvas/SeedNote.tsx",
    old: "setInput(at.scope, node, port, used)", new: "setInput(at.scope, node, port, used + 1)",
    flow: ["long_running", "a drawn seed is shown, and kept it gives the same picture without computing it again"],
  },
  {
    name: "jobs of a batch have one seed", file: "state/run.ts",
    old: "values[port] = (value + at) % (MOST_SEED + 1);", new: "values[port] = value;",
    flow: ["long_running", "three jobs at once with a fixed seed take it and the two after it"],
  },
  {
    name: "a job that could not be sent is lost with its page", file: "state/submit.ts",
    old: "void keepOrders(kept);", new: "",
    flow: ["long_running", "what is run while the server is down is sent once when it is back, from the page that asked and from the next"],
  },
  {
    name: "an old picture looks like a new one", file: "canvas/NodePicture.tsx",
    old: 'age === "old" ? t("run.result_old") :', new: 'age === "old" ? "" :',
    flow: ["long_running", "the picture of a run stands on its node without a click, is marked old by an edit and opens large"],
  },
  {
    name: "only the first element of a mapped node can be looked at", file: "canvas/OutputEye.tsx",
    old: "elements={elements} />", new: "elements={null} />",
    flow: ["long_running", "a mapped node says how many elements it made, and each is looked at"],
  },

  // ---- long_gallery ----
  {
    name: "the gallery ends with its first page", file: "panels/gallery/Gallery.tsx",
    old: "if (entries.some((one) => one.isIntersecting)) then(); }", new: "if (entries.length === 0) then(); }",
    flow: ["long_gallery", "the gallery goes on as one scrolls, to the oldest result, each of them once"],
  },
  {
    name: "choosing a kind chooses nothing", file: "panels/gallery/Filters.tsx",
    old: "onValue={(kind) => set({ kind })}", new: "onValue={() => set({})}",
    flow: ["long_gallery", "results of one kind are shown where that is asked for"],
  },
  {
    name: "the gallery does not look for results by itself", file: "panels/gallery/Gallery.tsx",
    old: "const REFRESH_MS = 15_000;", new: "const REFRESH_MS = 15_000_000;",
    flow: ["long_gallery", "a result of the command line appears in the gallery by itself"],
  },
  {
    name: "a film is fetched whole", file: "viewer/Film.tsx",
    old: "useEffect(() => video.current?.focus(), []);",
    new: `useEffect(() => void fetch(outputUrl(output.id)).then((answer) => answer.blob()).then((film) => {
    if (video.current !== null) video.current.src = URL.createObjectURL(film);
  }), []);`,
    flow: ["long_gallery", "a film is played from any place, and only the parts that are needed are fetched"],
  },
  {
    name: "a picture that is dragged is only its name", file: "panels/gallery/Card.tsx",
    old: "event.dataTransfer.setData(OUTPUT_TYPE, output.id)", new: 'event.dataTransfer.setData("text/plain", output.id)',
    flow: ["long_gallery", "a picture is dragged out of the gallery onto the canvas, and is an input there"],
  },
  {
    name: "files in the clipboard are passed over", file: "commands/clipboard_events.ts",
    old: "[...(clipboardData?.files ?? [])]", new: "[]",
    flow: ["long_gallery", "a picture in the clipboard is pasted as an input"],
  },
  {
    name: "a dropped workflow is not opened", file: "drop/take.tsx",
    old: "    openNamed(await file.text(), name);\n", new: "",
    flow: ["long_gallery", "a workflow that is dropped as a file opens in a tab of its own"],
  },

  // ---- long_canvas ----
  {
    name: "two fingers on a trackpad do nothing", file: "canvas/useInput.ts",
    old: "void flow.setViewport({ x: x - event.deltaX, y: y - event.deltaY, zoom });", new: "void flow.setViewport({ x, y, zoom });",
    flow: ["long_canvas", "a wheel zooms around the pointer, and two fingers on a trackpad move the canvas and pinch it"],
  },
  {
    name: "a wheel zooms although it is to move", file: "canvas/useInput.ts",
    old: '(preferences().wheel === "pan" && !event.ctrlKey && !event.metaKey)', new: "(preferences().minimap === null && !event.ctrlKey)",
    flow: ["long_canvas", "a wheel moves the canvas where that is wished, and still zooms with Ctrl"],
  },
  {
    name: "Space does not pan", file: "canvas/Surface.tsx",
    old: 'panActivationKeyCode="Space"', new: 'panActivationKeyCode="Pause"',
    flow: ["long_canvas", "the canvas is moved with the middle button, and with Space held"],
  },
  {
    name: "a list looks like one value", file: "canvas/scene.ts",
    old: 'if (port.type.startsWith("list[")) return "list";', new: 'if (port.type.startsWith("list[")) return "one";',
    flow: ["long_canvas", "ports tell by their shape whether they take one value, a list or anything, and by their colour its type"],
  },
  {
    name: "a wire does not come off its input by Delete", file: "canvas/PortButton.tsx",
    old: '(event.key === "Delete" || event.key === "Backspace") && linkInto', new: '(event.key === "Backspace") && linkInto',
    flow: ["long_canvas", "an input is a value and a socket at once"],
  },
  {
    name: "a frame holds what lies above and below it", file: "commands/here.ts",
    old: "return x >= frame.x && x <= frame.x + frame.width && y >= frame.y && y <= frame.y + frame.height;", new: "return x >= frame.x && x <= frame.x + frame.width && y > -1e9;",
    flow: ["long_canvas", "a bypassed frame lets through what comes in, and none of its nodes runs"],
  },
  {
    name: "what was closed is not opened again", file: "documents/actions.tsx",
    old: "useSaving.getState().closed.at(-1)", new: "useSaving.getState().closed.at(1)",
    flow: ["long_canvas", "tabs are changed, moved, closed and opened again, and all are there after a reload"],
  },

  // ---- long_documents ----
  {
    name: "an empty queue says nothing", file: "panels/queue/QueuePanel.tsx",
    old: "{isLoaded && running.length + waiting.length === 0 &&", new: "{isLoaded && running.length + waiting.length < 0 &&",
    flow: ["long_documents", "what is empty says what it is for and what to do"],
  },
  {
    name: "missing models are not told", file: "state/missing.ts",
    old: "models !== null && !models.has(value)) wanted.add(value);", new: "models !== null && !models.has(value)) wanted.delete(value);",
    flow: ["long_documents", "a model that is missing is told with what to do, and another is chosen in its node"],
  },
  {
    name: "nobody is told that the file is gone", file: "state/workflows.ts",
    old: 'say(t("documents.file_gone", { name: one.workflow }), { kind: "warn" });', new: "",
    flow: ["long_documents", "workflows of a folder that the server was given are listed as they come and go, and saved there"],
  },
  {
    name: "of both only theirs is kept", file: "state/workflows.ts",
    old: 'if (choice === "both") openCopy(now.history.document);', new: "",
    flow: ["long_documents", "of two contents both are kept, each in a tab of its own"],
  },

  // ---- long_watching ----
  {
    name: "the queue is not told of other tabs' jobs", file: "state/queue.ts",
    old: 'if (event.stream !== "all") continue;', new: 'if (event.stream !== "all" || (event.job !== undefined && !isOwn(event.job))) continue;',
    flow: ["long_watching", "a run of another tab appears in the queue and the gallery of this one"],
  },
  {
    name: "the time left is not told", file: "canvas/NodeStatus.tsx",
    old: "if (progress.eta_seconds !== null && progress.step < progress.total) facts.push(", new: "if (progress.eta_seconds === undefined) facts.push(",
    flow: ["long_watching", "a running node tells its step and the time left, and afterwards how long it took and where"],
  },
  {
    name: "a state stays on a node that is no longer what was run", file: "state/shown.ts",
    old: "(state.stale === null || state.stale.has(path) ? undefined : state.run?.rows.get(path))", new: "(state.stale === null ? undefined : state.run?.rows.get(path))",
    flow: ["long_watching", "states stand on a node while it is what was run, and come back with it"],
  },
  {
    name: "the older question for a plan goes on", file: "state/plan.ts",
    old: "function schedule(waitMs: number): void {\n  cancel();", new: "function schedule(waitMs: number): void {\n  clearTimeout(timer);",
    flow: ["long_watching", "a plan is asked for by what can change it and never for looks, and a newer edit drops the older question"],
  },
  {
    name: "the plan says nothing of memory", file: "bars/Run.tsx",
    old: ".filter(([, size]) => size > 0)", new: ".filter(([, size]) => size < 0)",
    flow: ["long_watching", "the plan says how long a run will take and what memory it needs where"],
  },
  {
    name: "random seeds of a batch are one", file: "state/run.ts",
    old: 'if (typeof value === "number") values[port] =', new: 'values[port] = typeof value !== "number" ? 7 :',
    flow: ["long_watching", "a batch with a random seed draws another one for each job"],
  },
];
