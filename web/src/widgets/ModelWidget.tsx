import { type ReactNode, useMemo } from "react";

import { useCatalogue } from "../state/catalogue";
import { Choice } from "./ChoiceWidget";
import type { WidgetProps } from "./widget";

/** One of the models on this server. */
export function ModelWidget(props: WidgetProps): ReactNode {
  const models = useCatalogue((state) => state.models);
  const names = useMemo(() => [...(models ?? [])].sort(), [models]);
  return <Choice {...props} options={names} onOpen={() => void useCatalogue.getState().load()} />;
}
