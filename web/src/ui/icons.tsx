/** The drawings of buttons: lines of one width in a field of 20 by 20, in the colour of the text around them. */

import type { ReactNode } from "react";

const DRAWINGS = {
  add: <path d="M10 4v12M4 10h12" />,
  search: <><circle cx="8.7" cy="8.7" r="4.7" /><path d="m12.3 12.3 4.2 4.2" /></>,
  close: <path d="m5 5 10 10M15 5 5 15" />,
  check: <path d="m4 10.5 4 4 8-9" />,
  right: <path d="m8 5 5 5-5 5" />,
  left: <path d="m12 5-5 5 5 5" />,
  down: <path d="m5 8 5 5 5-5" />,
  up: <path d="m5 12 5-5 5 5" />,
  more: <><circle cx="4.5" cy="10" r=".6" /><circle cx="10" cy="10" r=".6" /><circle cx="15.5" cy="10" r=".6" /></>,
  menu: <path d="M3.5 5.5h13M3.5 10h13M3.5 14.5h13" />,
  undo: <path d="M7 4 3.5 7.5 7 11M4 7.5h7.5a4.3 4.3 0 0 1 0 8.6H8" />,
  redo: <path d="m13 4 3.5 3.5L13 11M16 7.5H8.5a4.3 4.3 0 0 0 0 8.6H12" />,
  run: <path d="M6.5 4.3v11.4l9-5.7z" />,
  stop: <rect x="5" y="5" width="10" height="10" rx="1.5" />,
  pause: <path d="M7 4.5v11M13 4.5v11" />,
  settings: <><path d="M3 6h7.5M14.5 6H17M3 14h2.5M9.5 14H17" /><circle cx="12.5" cy="6" r="2" /><circle cx="7.5" cy="14" r="2" /></>,
  inspect: <><rect x="3" y="4" width="14" height="12" rx="2" /><path d="M11.5 4v12M5.5 7.5H9M5.5 10.5H9" /></>,
  queue: <><path d="M3.5 5h9M3.5 10h6M3.5 15h6" /><path d="m13 10.5 4 2.5-4 2.5z" /></>,
  plan: <><circle cx="5" cy="5" r="1.7" /><circle cx="5" cy="15" r="1.7" /><path d="M5 7v6.2M9.5 5H17M9.5 15H17M9.5 10H14" /></>,
  problem: <><path d="m10 3.5 7.2 12.7H2.8z" /><path d="M10 8.2v3.6M10 14v.1" /></>,
  info: <><circle cx="10" cy="10" r="7" /><path d="M10 9v5M10 6.3v.1" /></>,
  gallery: <><rect x="3" y="3" width="6" height="6" rx="1.2" /><rect x="11" y="3" width="6" height="6" rx="1.2" /><rect x="3" y="11" width="6" height="6" rx="1.2" /><rect x="11" y="11" width="6" height="6" rx="1.2" /></>,
  sweep: <><path d="M3 7.5h14M3 12.5h14M7.5 3v14M12.5 3v14" /><rect x="3" y="3" width="14" height="14" rx="2" /></>,
  image: <><rect x="3" y="4" width="14" height="12" rx="2" /><circle cx="7.3" cy="8" r="1.3" /><path d="m4 15 4.3-4 2.7 2.3 2.5-2.8 3 3.5" /></>,
  parameters: <><rect x="3" y="3.5" width="14" height="5" rx="1.5" /><rect x="3" y="11.5" width="14" height="5" rx="1.5" /><path d="M6 6h4M6 14h7" /></>,
  files: <><path d="M5 3.5h6.5L15.5 7.5v9H5z" /><path d="M11.5 3.5v4h4" /></>,
  folder: <path d="M3 15.5v-10h5l1.7 2H17v8z" />,
  workflows: <><rect x="2.8" y="3.5" width="5.6" height="4.6" rx="1.2" /><rect x="11.6" y="11.9" width="5.6" height="4.6" rx="1.2" /><path d="M8.4 5.8h2.2c2.6 0 .8 8.4 1 8.4" /></>,
  subgraph: <><rect x="2.8" y="2.8" width="14.4" height="14.4" rx="2.5" /><circle cx="7" cy="7.5" r="1.5" /><circle cx="13" cy="12.5" r="1.5" /><path d="M8.5 7.8c3 .2 0 4.3 3 4.5" /></>,
  frame: <path d="M3 7V4.5A1.5 1.5 0 0 1 4.5 3H7M13 3h2.5A1.5 1.5 0 0 1 17 4.5V7M17 13v2.5a1.5 1.5 0 0 1-1.5 1.5H13M7 17H4.5A1.5 1.5 0 0 1 3 15.5V13" />,
  note: <><path d="M3.5 3.5h13v8.5L12 16.5H3.5z" /><path d="M16.5 12H12v4.5M6.5 7.5h7M6.5 10.5h4" /></>,
  trash: <path d="M3.5 5.5h13M8 5.5V3.5h4v2M5.5 5.5l.8 11h7.4l.8-11M8.5 8.5v5M11.5 8.5v5" />,
  copy: <><rect x="7" y="7" width="9.5" height="9.5" rx="1.5" /><path d="M13 7V5a1.5 1.5 0 0 0-1.5-1.5H5A1.5 1.5 0 0 0 3.5 5v6.5A1.5 1.5 0 0 0 5 13h2" /></>,
  edit: <path d="m4 16 .8-3.6L13.3 4l2.7 2.7-8.4 8.5z" />,
  keyboard: <><rect x="2.5" y="5" width="15" height="10" rx="1.8" /><path d="M5.5 8.2v.1M8.5 8.2v.1M11.5 8.2v.1M14.5 8.2v.1M7 11.8h6" /></>,
  sun: <><circle cx="10" cy="10" r="3.2" /><path d="M10 2.5v1.8M10 15.7v1.8M2.5 10h1.8M15.7 10h1.8M4.7 4.7 6 6M14 14l1.3 1.3M15.3 4.7 14 6M6 14l-1.3 1.3" /></>,
  moon: <path d="M15.8 11.8A6.5 6.5 0 1 1 8.2 4.2a5.2 5.2 0 0 0 7.6 7.6z" />,
  eye: <><path d="M2.5 10S5.2 5 10 5s7.5 5 7.5 5-2.7 5-7.5 5-7.5-5-7.5-5z" /><circle cx="10" cy="10" r="2.2" /></>,
  star: <path d="m10 3 2.1 4.5 4.9.6-3.6 3.4.9 4.9L10 14l-4.3 2.4.9-4.9L3 8.1l4.9-.6z" />,
  download: <path d="M10 3.5v9M6 9l4 4 4-4M4 16.5h12" />,
  upload: <path d="M10 13V4M6 7.5l4-4 4 4M4 16.5h12" />,
  link: <path d="M8.3 11.7a3 3 0 0 0 4.3 0l3-3a3 3 0 0 0-4.3-4.3l-1 1M11.7 8.3a3 3 0 0 0-4.3 0l-3 3a3 3 0 0 0 4.3 4.3l1-1" />,
  fit: <path d="M3.5 7.5v-4h4M12.5 3.5h4v4M16.5 12.5v4h-4M7.5 16.5h-4v-4M8 8h4v4H8z" />,
  refresh: <path d="M16 10a6 6 0 1 1-1.8-4.3L16 7.5M16 3.5v4h-4" />,
  pin: <path d="M7 3.5h6l-.7 5.5 2.2 2.5h-9L7.7 9zM10 11.5v5" />,
  chip: <><rect x="5.5" y="5.5" width="9" height="9" rx="1.5" /><path d="M8 5.5v-3M12 5.5v-3M8 17.5v-3M12 17.5v-3M5.5 8h-3M5.5 12h-3M17.5 8h-3M17.5 12h-3" /></>,
} as const satisfies { readonly [name: string]: ReactNode };

export type IconName = keyof typeof DRAWINGS;

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.5"
      strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false"
    >
      {DRAWINGS[name]}
    </svg>
  );
}

/** For files without markup (`panels/<name>/panel.ts`): the drawing as a value. */
export function icon(name: IconName): ReactNode {
  return <Icon name={name} />;
}
