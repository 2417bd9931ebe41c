/**
 * The open documents (tabs): each with its history, where in it one is, and what is selected.
 *
 * Plain state and the few ways to change it. Keeping documents on the server is `state/saving.ts`; what edits mean is
 * `model/edit.ts`.
 */

import { create } from "zustand";

import { type ScopeId, type WorkflowDocument, emptyDocument } from "../model/document";
import { type Edit, type History, applied, begin, redone, undone } from "../model/history";
import { randomId } from "../model/random";

export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

export interface OpenDocument {
  /** Id of the tab and of its draft on the server. */
  readonly id: string;
  /** The saved workflow it is; null for one without a name yet. */
  readonly workflow: string | null;
  /** ETag of the saved version that it was begun from; null for none. */
  readonly base: string | null;
  /** The document as it was last saved as a version; null for never. */
  readonly saved: WorkflowDocument | null;
  readonly history: History;
  /** Instances entered, from the outside in: [] is the document itself, ["upscale"] inside the instance `upscale`. */
  readonly path: readonly string[];
  /** Ids of selected nodes, frames ("frame:id") and notes ("note:id") of the scope that is shown. */
  readonly selection: ReadonlySet<string>;
  readonly viewports: { readonly [path: string]: Viewport };
}

interface Documents {
  readonly open: readonly OpenDocument[];
  readonly active: string;
  add(document: WorkflowDocument, facts?: Partial<Pick<OpenDocument, "id" | "workflow" | "base" | "saved">>): string;
  close(id: string): void;
  activate(id: string): void;
  /** Carry out an edit of the active document (or of the one named) as one step of undo. */
  apply(title: string, edit: Edit, gesture?: string | null, id?: string): void;
  undo(): void;
  redo(): void;
  select(ids: Iterable<string>): void;
  enter(path: readonly string[]): void;
  look(viewport: Viewport): void;
  change(id: string, facts: Partial<Omit<OpenDocument, "id">>): void;
}

export function newId(): string {
  return randomId();
}

export const useDocuments = create<Documents>()((set, get) => {
  const change = (id: string, facts: Partial<OpenDocument>): void => {
    set((state) => ({ open: state.open.map((one) => (one.id === id ? { ...one, ...facts } : one)) }));
  };
  return {
    open: [],
    active: "",
    add(document, facts = {}) {
      const id = facts.id ?? newId();
      const opened: OpenDocument = {
        workflow: null, base: null, saved: null, path: [], selection: new Set(), viewports: {},
        ...facts, id, history: begin(document),
      };
      set((state) => ({ open: [...state.open, opened], active: id }));
      return id;
    },
    close(id) {
      set((state) => {
        const at = state.open.findIndex((one) => one.id === id);
        const open = state.open.filter((one) => one.id !== id);
        const next = open[Math.min(at, open.length - 1)]?.id ?? "";
        return { open, active: state.active === id ? next : state.active };
      });
    },
    activate(id) {
      set({ active: id });
    },
    apply(title, edit, gesture = null, id = get().active) {
      const one = get().open.find((candidate) => candidate.id === id);
      if (one === undefined) return;
      const history = applied(one.history, title, completing(edit), gesture);
      if (history !== one.history) change(id, { history });
    },
    undo() {
      const one = current(get());
      if (one !== undefined) change(one.id, { history: undone(one.history) });
    },
    redo() {
      const one = current(get());
      if (one !== undefined) change(one.id, { history: redone(one.history) });
    },
    select(ids) {
      const one = current(get());
      if (one !== undefined) change(one.id, { selection: new Set(ids) });
    },
    enter(path) {
      const one = current(get());
      if (one !== undefined) change(one.id, { path, selection: new Set() });
    },
    look(viewport) {
      const one = current(get());
      if (one !== undefined) change(one.id, { viewports: { ...one.viewports, [one.path.join("/")]: viewport } });
    },
    change,
  };
});

/** What every edit adds to a document before it changes it; set by the canvas, which knows how large nodes are. */
let complete: Edit = (document) => document;

export function completeWith(edit: Edit): void {
  complete = edit;
}

/** An edit that changes nothing adds nothing. */
function completing(edit: Edit): Edit {
  return (document) => {
    const after = edit(document);
    if (after === document) return document;
    const full = complete(document);
    return full === document ? after : edit(full);
  };
}

function current(state: Documents): OpenDocument | undefined {
  return state.open.find((one) => one.id === state.active);
}

/** The active document, or undefined while none is open. */
export function activeDocument(): OpenDocument | undefined {
  return current(useDocuments.getState());
}

const NOTHING = emptyDocument();

/** The id of the scope that a path of instances leads to; the innermost that exists. */
export function scopeAt(document: WorkflowDocument, path: readonly string[]): ScopeId {
  let scope: ScopeId = "";
  for (const instance of path) {
    const nodes: WorkflowDocument["nodes"] = scope === "" ? document.nodes : (document.subgraphs?.[scope]?.nodes ?? {});
    const type = nodes[instance]?.type;
    if (type === undefined || !type.startsWith("#") || document.subgraphs?.[type.slice(1)] === undefined) break;
    scope = type.slice(1);
  }
  return scope;
}

/** For components: the active document's JSON. */
export function useDocument(): WorkflowDocument {
  return useDocuments((state) => current(state)?.history.document ?? NOTHING);
}

/** For components: the id of the scope that is shown. */
export function useScopeId(): ScopeId {
  return useDocuments((state) => {
    const one = current(state);
    return one === undefined ? "" : scopeAt(one.history.document, one.path);
  });
}
