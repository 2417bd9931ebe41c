// stub: replaced by w-run
export function NodePreview({ path }: { readonly path: string }): React.ReactNode {
  void path;
  return null;
}
