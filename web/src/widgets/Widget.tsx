import type { ReactNode } from "react";

import { BoolWidget } from "./BoolWidget";
import { ChoiceWidget } from "./ChoiceWidget";
import { FileWidget } from "./FileWidget";
import { ListWidget } from "./ListWidget";
import { ModelWidget } from "./ModelWidget";
import { NumberWidget } from "./NumberWidget";
import { SeedWidget } from "./SeedWidget";
import { TextWidget } from "./TextWidget";
import type { WidgetProps } from "./widget";

/** The value of an input, shown as text until it is edited; the kind of widget follows from the port's hint and type. */
export function Widget(props: WidgetProps): ReactNode {
  const { port } = props;
  if (port.type.startsWith("list[")) return <ListWidget {...props} />;
  switch (port.hint?.hint) {
    case "range": return <NumberWidget {...props} />;
    case "choice": return <ChoiceWidget {...props} />;
    case "seed": return <SeedWidget {...props} />;
    case "file": return <FileWidget {...props} />;
    case "model": return <ModelWidget {...props} />;
    default: return port.type === "bool" ? <BoolWidget {...props} /> : port.type === "text" ? <TextWidget {...props} /> : <NumberWidget {...props} />;
  }
}
