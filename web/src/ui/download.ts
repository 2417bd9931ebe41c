/** Let the browser save what is at an address under a name. */
export function download(url: string, name: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

/** The same with bytes that are here. */
export function downloadBlob(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  download(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
