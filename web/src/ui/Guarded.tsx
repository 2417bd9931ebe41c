/**
 * A part of the page that may fail by itself: what happened is shown in its place, and the part can be loaded again. The open
 * documents are in `state/`, outside of every part, and so are never lost with one.
 */

import { Component, type ErrorInfo, type ReactNode } from "react";

import { t } from "../texts";
import { Button } from "./Button";
import styles from "./Guarded.module.css";
import { Icon } from "./icons";

interface Props {
  /** What the part is called on the screen. */
  readonly name: string;
  readonly children: ReactNode;
}

interface State {
  readonly error: Error | null;
  readonly tries: number;
}

export class Guarded extends Component<Props, State> {
  override state: State = { error: null, tries: 0 };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error(`${this.props.name}:`, error, info.componentStack);
  }

  override render(): ReactNode {
    const { error, tries } = this.state;
    if (error === null) return <Kept key={tries}>{this.props.children}</Kept>;
    const details = `${error.name}: ${error.message}\n${error.stack ?? ""}`;
    return (
      <div className={styles["failed"]} role="alert">
        <Icon name="problem" size={28} />
        <h2>{t("layout.failed", { part: this.props.name })}</h2>
        <p>{t("layout.failed_safe")}</p>
        <pre>{error.message}</pre>
        <div className={styles["buttons"]}>
          <Button kind="primary" onClick={() => this.setState({ error: null, tries: tries + 1 })}>{t("layout.reload_part")}</Button>
          <Button onClick={() => void navigator.clipboard?.writeText(details)}>{t("layout.copy_details")}</Button>
        </div>
      </div>
    );
  }
}

/** Made anew with each try, and everything in it. */
function Kept({ children }: { readonly children: ReactNode }): ReactNode {
  return children;
}
