// @vitest-environment happy-dom

/** Dialogs, one in front of the other. */

import { act, render, screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { Dialog, Dialogs, showDialog, useClose } from "./dialogs";

let closeFirst: () => void;

function First(): React.ReactNode {
  closeFirst = useClose();
  return <Dialog title="First">first</Dialog>;
}

it("what is done late in a dialog closes that one, and no other that is open by then", () => {
  render(<Dialogs />);
  act(() => {
    showDialog(<First />);
    showDialog(<Dialog title="Second">second</Dialog>);
  });
  act(() => closeFirst());
  expect(screen.queryByText("first")).toBeNull();
  act(() => closeFirst());
  expect(screen.queryByText("second")).not.toBeNull();
});
