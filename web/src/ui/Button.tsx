import styles from "./Button.module.css";

type Props = React.ComponentProps<"button"> & {
  readonly kind?: "plain" | "primary" | "quiet" | "danger";
  /** For a button that shows only a picture: its name for screen readers and its tooltip. */
  readonly label?: string;
};

export function Button({ kind = "plain", label, className = "", type = "button", ...rest }: Props): React.ReactNode {
  const named = label === undefined ? {} : { "aria-label": label, title: label };
  return <button {...named} {...rest} type={type} className={`${styles["button"]} ${styles[kind]} ${className}`} />;
}
