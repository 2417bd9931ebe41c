import type { ReactNode } from "react";

import { Choice } from "./ChoiceWidget";
import { loadModels, useModels } from "./models";
import type { WidgetProps } from "./widget";

/** One of the models on this server. */
export function ModelWidget(props: WidgetProps): ReactNode {
  const names = useModels((state) => state.names);
  return <Choice {...props} options={names} onOpen={() => void loadModels()} />;
}
