// @vitest-environment happy-dom

/** Nothing typed is lost: drafts with a server that dies, a page that is loaded again, two pages with one draft. */

import { describe, expect, it, vi } from "vitest";

import { EMPTY, ID, done, onStage, openNew, openPage, server, settled, wait } from "./page_testing";

onStage();

describe("a draft", () => {
  it("is on the server within a second of an edit, with one request for many edits", async () => {
    const page = await openNew();
    for (const text of ["a", "ab", "abc"]) page.type(text);
    await wait(1000);
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "abc" });
    expect(server.count("PUT")).toBe(1);
    expect(page.state()).toBe("kept");
  });

  it("is not made for a document that is as it began, and goes when it is again", async () => {
    const page = await openNew();
    await wait(1000);
    expect(server.count("PUT")).toBe(0);
    page.type("a");
    await wait(1000);
    page.useDocuments.getState().undo();
    await wait(1000);
    expect(server.drafts.size).toBe(0);
  });

  it("is changed under If-Match, one request at a time", async () => {
    const page = await openNew();
    page.type("a");
    await wait(500);
    server.hold();
    page.type("ab");
    await wait(500);
    page.type("abc");
    void page.saveNow();
    await wait(2000);
    expect(server.atOnce).toBe(1);
    server.release();
    await wait(1000);
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "abc" });
    expect(page.question()).toBeUndefined();
  });

  it("goes when the document is saved as a workflow", async () => {
    const page = await openNew();
    page.type("a");
    await wait(1000);
    await done(page.workflows.saveAs(ID, "first"));
    await wait(1000);
    expect(server.drafts.size).toBe(0);
    expect(server.workflows.get("first")?.document).toMatchObject({ description: "a", name: "first" });
    expect(page.useDocuments.getState().open[0]).toMatchObject({ workflow: "first", base: server.workflows.get("first")?.etag });
  });
});

describe("saving as a workflow", () => {
  it("keeps as a draft what is typed while it is sent", async () => {
    const page = await openNew();
    page.type("a");
    await wait(1000);
    server.hold();
    const saving = page.workflows.saveAs(ID, "first");
    await settled();
    page.type("ab");
    server.release();
    await done(saving);
    await wait(1500);
    expect(server.workflows.get("first")?.document).toMatchObject({ description: "a" });
    expect(server.drafts.get(ID)).toMatchObject({ workflow: "first", base: server.workflows.get("first")?.etag });
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "ab", name: "first" });
  });

  it("does not replace a workflow of that name unasked", async () => {
    server.put("first", { ...EMPTY, description: "of somebody" });
    const page = await openNew();
    await expect(done(page.workflows.saveAs(ID, "first"))).rejects.toMatchObject({ status: 412, etag: server.workflows.get("first")?.etag });
    expect(server.workflows.get("first")?.document).toMatchObject({ description: "of somebody" });
    expect(page.useDocuments.getState().open[0]?.workflow).toBeNull();
  });
});

describe("a server that dies", () => {
  it("loses nothing: what was typed is sent when it is back", async () => {
    const page = await openNew();
    server.isAway = true;
    page.type("a");
    await wait(3000);
    expect(page.state()).toBe("away");
    page.type("ab");
    server.isAway = false;
    await wait(12_000);
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "ab" });
    expect(page.state()).toBe("kept");
  });

  it("in the middle of a PUT, after writing: its own answer is no conflict", async () => {
    const page = await openNew();
    page.type("a");
    await wait(1000);
    server.losesAnswers = true;
    page.type("ab");
    await wait(600);
    page.type("abc");
    server.losesAnswers = false;
    await wait(12_000);
    expect(page.question()).toBeUndefined();
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "abc" });
  });

  it("and a page that is loaded again meanwhile: the text comes from this browser", async () => {
    const page = await openNew();
    page.type("a");
    await wait(1000);
    server.losesAnswers = true;
    page.type("ab");
    await wait(600);
    page.type("abc");
    await settled();
    page.close();
    server.losesAnswers = false;
    const again = await openPage();
    expect(await done(again.restore())).toBe(true);
    expect(again.texts()).toEqual(["abc"]);
    await wait(2000);
    expect(again.question()).toBeUndefined();
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "abc" });
  });
});

describe("closing a tab", () => {
  it("asks only if neither the server nor this browser has the changes", async () => {
    const page = await openNew();
    expect(await done(page.wouldBeLost(ID))).toBe(false);
    server.isAway = true;
    page.type("a");
    await settled();
    expect(await done(page.wouldBeLost(ID))).toBe(false);
    vi.stubGlobal("indexedDB", { open: () => { throw new Error("no storage here"); } });
    const without = await openPage();
    without.openUntitled(EMPTY, null, "d2");
    without.type("a");
    await settled();
    expect(await done(without.wouldBeLost("d2"))).toBe(true);
    server.isAway = false;
    expect(await done(without.wouldBeLost("d2"))).toBe(false);
  });
});

describe("a page that is loaded again", () => {
  it("before anything was sent has what was typed", async () => {
    const page = await openNew();
    page.type("typed just now");
    await settled();
    page.close();
    expect(server.drafts.size).toBe(0);
    const again = await openPage();
    await done(again.restore());
    expect(again.texts()).toEqual(["typed just now"]);
    await wait(2000);
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "typed just now" });
  });

  it("opens its tabs in their order, with the one that was shown", async () => {
    const page = await openPage();
    for (const id of ["x", "y", "z"]) {
      page.openUntitled(EMPTY, null, id);
      page.type(id);
    }
    page.useDocuments.getState().activate("y");
    await wait(1500);
    page.close();
    const again = await openPage();
    await done(again.restore());
    expect(again.texts()).toEqual(["x", "y", "z"]);
    expect(again.useDocuments.getState().active).toBe("y");
  });

  it("leaves closed drafts closed, and lists them", async () => {
    const page = await openNew();
    page.type("a");
    page.useDocuments.getState().close(ID);
    await wait(1500);
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "a" });
    page.close();
    const again = await openPage();
    await done(again.restore());
    expect(again.texts()).toEqual([]);
    expect(again.useSaving.getState().closed).toEqual([ID]);
    await done(again.workflows.openDraft(ID));
    expect(again.texts()).toEqual(["a"]);
  });

  it("says so if there was never anything", async () => {
    const page = await openPage();
    expect(await done(page.restore())).toBe(false);
  });
});

describe("two pages with one draft", () => {
  async function two() {
    const first = await openPage();
    first.openUntitled(EMPTY, null, ID);
    first.type("a");
    await wait(1000);
    const second = await openPage();
    await done(second.restore());
    return { first, second };
  }

  it("ask rather than overwrite, and keep mine wins", async () => {
    const { first, second } = await two();
    first.type("by the first");
    await wait(1000);
    second.type("by the second");
    await wait(1000);
    expect(second.question()?.theirs.description).toBe("by the first");
    expect(second.question()?.mine().description).toBe("by the second");
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "by the first" });
    await second.useConflicts.getState().answer(ID, "mine");
    await wait(1000);
    expect(server.drafts.get(ID)?.document).toMatchObject({ description: "by the second" });
  });

  it("take theirs shows theirs, and undo has mine", async () => {
    const { first, second } = await two();
    first.type("by the first");
    await wait(1000);
    second.type("by the second");
    await wait(1000);
    await second.useConflicts.getState().answer(ID, "theirs");
    await wait(1000);
    expect(second.texts()).toEqual(["by the first"]);
    second.useDocuments.getState().undo();
    expect(second.texts()).toEqual(["by the second"]);
  });

  it("keep both makes a draft of each", async () => {
    const { first, second } = await two();
    first.type("by the first");
    await wait(1000);
    second.type("by the second");
    await wait(1000);
    await second.useConflicts.getState().answer(ID, "both");
    await wait(1000);
    expect([...second.texts()].sort()).toEqual(["by the first", "by the second"]);
    expect([...server.drafts.values()].map((draft) => draft.document["description"]).sort()).toEqual(["by the first", "by the second"]);
  });

  it("keeps what is typed during the question, through a reload too", async () => {
    const { first, second } = await two();
    first.type("by the first");
    await wait(1000);
    second.type("by the second");
    await wait(1000);
    second.type("by the second, later");
    await wait(500);
    expect(second.state()).toBe("conflict");
    second.close();
    const again = await openPage();
    await done(again.restore());
    await wait(1000);
    expect(again.texts()).toEqual(["by the second, later"]);
    expect(again.question()?.theirs.description).toBe("by the first");
  });

  it("keep both contents when the tab is closed without an answer", async () => {
    const { first, second } = await two();
    first.type("by the first");
    await wait(1000);
    second.type("by the second");
    await wait(1000);
    second.useDocuments.getState().close(ID);
    await wait(1000);
    expect([...server.drafts.values()].map((draft) => draft.document["description"]).sort()).toEqual(["by the first", "by the second"]);
  });

  it("leave alone what the other one is still sending", async () => {
    const first = await openPage();
    const { PAGE } = await import("./mirror");
    vi.stubGlobal("navigator", { locks: { query: async () => ({ held: [{ name: `page:${PAGE}` }] }), request: async () => {} } });
    server.takesNothing = true;
    first.openUntitled(EMPTY, null, ID);
    first.type("typed there");
    await wait(500);
    const second = await openPage();
    await done(second.restore());
    expect(second.texts()).toEqual([]);
    const { readMirrors } = await import("./mirror");
    expect((await readMirrors()).map((mirror) => mirror.page)).toEqual([PAGE]);
  });

  it("shows what the other page wrote while this one is idle", async () => {
    const { first, second } = await two();
    first.type("by the first");
    await wait(1000);
    await done(second.workflows.refresh());
    expect(second.texts()).toEqual(["by the first"]);
    second.type("by the second");
    await wait(1000);
    expect(second.question()).toBeUndefined();
  });
});

describe("a saved workflow that somebody else changes", () => {
  async function opened() {
    server.put("shapes", { ...EMPTY, description: "saved" });
    const page = await openPage();
    await done(page.workflows.openWorkflow("shapes"));
    return page;
  }

  it("is loaded again if it has no changes here", async () => {
    const page = await opened();
    server.put("shapes", { ...EMPTY, description: "by another program" });
    await done(page.workflows.refresh());
    expect(page.texts()).toEqual(["by another program"]);
    await wait(1000);
    expect(server.drafts.size).toBe(0);
  });

  it("is asked about if it has, and keep mine makes a version", async () => {
    const page = await opened();
    page.type("mine");
    server.put("shapes", { ...EMPTY, description: "by another program" });
    await done(page.workflows.refresh());
    const key = page.question()?.key ?? "";
    expect(page.texts()).toEqual(["mine"]);
    expect(server.workflows.get("shapes")?.document).toMatchObject({ description: "by another program" });
    await done(page.useConflicts.getState().answer(key, "mine"));
    expect(server.workflows.get("shapes")?.document).toMatchObject({ description: "mine" });
  });

  it("is asked about when it is saved before the change was noticed", async () => {
    const page = await opened();
    page.type("mine");
    server.put("shapes", { ...EMPTY, description: "by another program" });
    expect(await done(page.workflows.save(page.useDocuments.getState().active))).toBe(false);
    expect(page.question()?.theirs.description).toBe("by another program");
    expect(server.workflows.get("shapes")?.document).toMatchObject({ description: "by another program" });
  });

  it("stays open when its file is removed, and saving makes it anew", async () => {
    const page = await opened();
    server.workflows.delete("shapes");
    await done(page.workflows.refresh());
    await wait(1000);
    expect(page.texts()).toEqual(["saved"]);
    expect(await done(page.workflows.save(page.useDocuments.getState().active))).toBe(true);
    expect(server.workflows.get("shapes")?.document).toMatchObject({ description: "saved" });
  });
});
