// @vitest-environment happy-dom

/** Answers that come late, or twice, or after the document was closed: nothing is lost, and nothing older shown for newer. */

import { IDBFactory } from "fake-indexeddb";
import { describe, expect, it, vi } from "vitest";

import { EMPTY, ID, done, onStage, openNew, openPage, server, settled, wait } from "./page_testing";

onStage();

describe("a tab that is closed before the server has what was typed last", () => {
  it("is opened again with that, and sends it on", async () => {
    const page = await openNew();
    page.type("a");
    await wait(1000);
    server.takesNothing = true;
    page.type("ab");
    await wait(600);
    page.useDocuments.getState().close(ID);
    await done(page.workflows.openDraft(ID));
    expect(page.texts()).toEqual(["ab"]);
    page.type("abc");
    server.takesNothing = false;
    await wait(12_000);
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "abc" });
    expect(page.question()).toBeUndefined();
  });

  it("is what its workflow is opened with", async () => {
    server.put("shapes", { ...EMPTY, description: "saved" });
    const page = await openPage();
    const id = await done(page.workflows.openWorkflow("shapes"));
    await done(page.workflows.refresh());
    page.type("typed");
    page.useDocuments.getState().close(id);
    await done(page.workflows.openWorkflow("shapes"));
    expect(page.texts()).toEqual(["typed"]);
    await wait(1000);
    page.useDocuments.getState().close(id);
    await settled();
    await done(page.workflows.openWorkflow("shapes"));
    expect(page.texts()).toEqual(["typed"]);
  });
});

describe("a draft that was closed", () => {
  /** Another browser: with an IndexedDB of its own. */
  async function elsewhere() {
    vi.stubGlobal("indexedDB", new IDBFactory());
    const page = await openPage();
    await done(page.restore());
    return page;
  }

  async function closedHere() {
    const page = await openNew();
    page.type("a");
    await wait(1000);
    page.useDocuments.getState().close(ID);
    await wait(1000);
    return page;
  }

  it("is not opened again by another browser, and is there to be opened", async () => {
    await closedHere();
    const other = await elsewhere();
    expect(other.texts()).toEqual([]);
    await done(other.workflows.openDraft(ID));
    expect(other.texts()).toEqual(["a"]);
  });

  it("and is opened again in one is open in the next", async () => {
    const page = await closedHere();
    await done(page.workflows.openDraft(ID));
    await wait(1000);
    expect((await elsewhere()).texts()).toEqual(["a"]);
  });

  it("here stays as it is where it is open too, without a step of undo", async () => {
    const first = await openPage();
    first.openUntitled(EMPTY, null, ID);
    first.type("a");
    await wait(1000);
    const other = await elsewhere();
    first.useDocuments.getState().close(ID);
    await wait(1000);
    await done(other.workflows.refresh());
    expect(other.useDocuments.getState().open[0]?.history.past).toEqual([]);
    other.type("ab");
    await wait(1000);
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "ab" });
    expect(other.question()).toBeUndefined();
  });

  it("before the server had it is closed after a reload too", async () => {
    const page = await openNew();
    server.isAway = true;
    page.type("a");
    page.useDocuments.getState().close(ID);
    await settled();
    page.close();
    server.isAway = false;
    const again = await openPage();
    await done(again.restore());
    await wait(1000);
    expect(again.texts()).toEqual([]);
    expect(server.drafts.get(ID)).toMatchObject({ closed: true, document: { description: "a" } });
  });
});

describe("asked for twice", () => {
  it("a draft is opened once", async () => {
    const page = await openNew();
    page.type("a");
    await wait(1000);
    page.useDocuments.getState().close(ID);
    await wait(100);
    await done(Promise.all([page.workflows.openDraft(ID), page.workflows.openDraft(ID)]));
    expect(page.texts()).toEqual(["a"]);
  });

  it("a workflow is opened once", async () => {
    server.put("shapes", EMPTY);
    const page = await openPage();
    await done(Promise.all([page.workflows.openWorkflow("shapes"), page.workflows.openWorkflow("shapes")]));
    expect(page.useDocuments.getState().open).toHaveLength(1);
  });

  it("a workflow is saved one version after the other, and the page is no somebody else", async () => {
    server.put("shapes", EMPTY);
    const page = await openPage();
    const id = await done(page.workflows.openWorkflow("shapes"));
    const release = server.delay(/^PUT .*workflows/);
    page.type("a");
    const first = page.workflows.save(id);
    await settled();
    page.type("ab");
    const second = page.workflows.save(id);
    await settled();
    release();
    expect(await done(Promise.all([first, second]))).toEqual([true, true]);
    expect(server.workflows.get("shapes")?.document).toMatchObject({ description: "ab" });
    expect(page.question()).toBeUndefined();
  });
});

describe("a draft", () => {
  it("sends nothing while it finds out whose the server's is", async () => {
    const first = await openPage();
    first.openUntitled(EMPTY, null, ID);
    first.type("a");
    await wait(1000);
    const second = await openPage();
    await done(second.restore());
    first.type("by the first");
    await wait(1000);
    const release = server.delay(/^GET .*drafts\/d1/);
    second.type("by the second");
    await wait(600);
    const sent = server.count("PUT");
    second.type("by the second, later");
    void second.saveNow();
    await wait(1000);
    expect(server.count("PUT")).toBe(sent);
    release();
    await wait(500);
    expect(second.question()?.mine().description).toBe("by the second, later");
  });

  it("that was written though its answer was lost goes when it is not wanted any more", async () => {
    const page = await openNew();
    server.losesAnswers = true;
    page.type("a");
    await wait(500);
    expect(server.drafts.size).toBe(1);
    page.useDocuments.getState().undo();
    server.losesAnswers = false;
    await wait(12_000);
    expect(server.drafts.size).toBe(0);
    expect(page.state()).toBe("kept");
  });

  it("of somebody else under the same id stays when ours is not wanted any more", async () => {
    const page = await openNew();
    server.losesAnswers = true;
    page.type("a");
    await wait(500);
    server.drafts.set(ID, { document: { ...EMPTY, description: "theirs" }, workflow: null, base: null, etag: "theirs" });
    page.useDocuments.getState().undo();
    server.losesAnswers = false;
    await wait(12_000);
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "theirs" });
  });
});

describe("opening everything again", () => {
  async function opened(...names: string[]) {
    for (const name of names) server.put(name, { ...EMPTY, description: name });
    const page = await openPage();
    for (const name of names) await done(page.workflows.openWorkflow(name));
    page.useDocuments.getState().activate(page.useDocuments.getState().open.at(-1)?.id ?? "");
    await wait(100);
    page.close();
  }

  it("forgets no tab when the page is closed in between", async () => {
    await opened("x", "y");
    const second = await openPage();
    const release = server.delay(/GET .*workflows\/x/);
    void second.restore();
    await wait(500);
    expect(second.texts()).toEqual(["y"]);
    second.close();
    const third = await openPage();
    release();
    await done(third.restore());
    expect(third.texts()).toEqual(["x", "y"]);
  });

  it("leaves the tab shown that somebody chose meanwhile", async () => {
    await opened("x", "y", "z");
    const page = await openPage();
    const release = server.delay(/GET .*workflows\/x/);
    const restored = page.restore();
    await wait(500);
    const own = page.openUntitled(EMPTY);
    release();
    await done(restored);
    expect(page.useDocuments.getState().active).toBe(own);
    expect(page.texts()).toEqual(["x", "y", "z", undefined]);
  });

  it("shows at once the tab that was shown", async () => {
    await opened("x", "y");
    const page = await openPage();
    const release = server.delay(/GET .*workflows\/x/);
    const restored = page.restore();
    await wait(500);
    const [shown] = page.useDocuments.getState().open;
    expect(shown?.workflow).toBe("y");
    release();
    await done(restored);
    expect(page.useDocuments.getState().active).toBe(shown?.id);
  });
});

describe("the lists of workflows", () => {
  it("are the newest, though an older answer comes after it", async () => {
    server.put("old", EMPTY);
    const page = await openPage();
    const release = server.delay(/^GET .*workflows$/);
    const older = page.workflows.refresh();
    await settled();
    server.delay(/nothing/);
    server.workflows.delete("old");
    server.put("new", EMPTY);
    await done(page.workflows.refresh());
    release();
    await done(older);
    expect(page.workflows.useWorkflows.getState().entries.map((entry) => entry.name)).toEqual(["new"]);
  });
});

describe("saving under a name", () => {
  it("leaves nothing unsaved where the canvas completes the document", async () => {
    const page = await openPage();
    const { completeWith } = await import("./documents");
    completeWith((document) => (document.view === undefined ? { ...document, view: {} } : document));
    page.openUntitled(EMPTY, null, ID);
    await done(page.workflows.saveAs(ID, "first"));
    const [one] = page.useDocuments.getState().open;
    expect(one?.saved).toBe(one?.history.document);
  });
});
