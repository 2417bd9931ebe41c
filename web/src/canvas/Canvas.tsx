/** The canvas: the scope that is shown, as nodes and wires. */
export function Canvas(): React.ReactNode {
  return null;
}
