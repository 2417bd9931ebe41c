// stub: replaced by w-run
export function NodeStatus({ path }: { readonly path: string }): React.ReactNode {
  void path;
  return null;
}
