/** What a port held in a job: a picture, a text, a number, or shapes, types and ranges; several are paged. */

import { useEffect, useState } from "react";

import { Problem, sentence } from "../api/client";
import { type TensorFacts, type Value, addressOf, readValue } from "../api/jobs";
import { valueText } from "../state/format";
import { runActive } from "../state/run";
import { useTexts } from "../texts";
import { Button } from "../ui/Button";
import styles from "./ValueView.module.css";

interface Props {
  readonly job: string;
  readonly node: string;
  readonly port: string;
  /** How many executions a mapped node had; null for one that is not mapped. */
  readonly elements: number | null;
}

type Found = { readonly value: Value } | { readonly refused: string; readonly isGone: boolean } | null;

export function ValueView({ job, node, port, elements }: Props): React.ReactNode {
  const t = useTexts();
  const [index, setIndex] = useState(0);
  const [at, setAt] = useState(0);
  const element = elements === null ? null : at;
  const found = useValue(job, node, port, index, element);
  const [count, setCount] = useState(1);
  const shown = found !== null && "value" in found && "picture" in found.value ? found.value.count : null;
  useEffect(() => {
    if (shown !== null) setCount(shown);
  }, [shown]);
  return (
    <div className={styles["view"]}>
      <div className={styles["title"]}>{node}.{port}</div>
      {found === null ? <p className={styles["text"]}>{t("run.look_loading")}</p> : "value" in found ? (
        <Shown value={found.value} name={`${node}.${port}`} alt={t("run.look_alt", { node, port })} large={addressOf({ job, node, port, index, element }, "png")} />
      ) : (
        <>
          <p className={styles["text"]}>{found.refused}</p>
          {found.isGone && <Button onClick={() => void runActive([`${node}.${port}`])}>{t("run.look_run")}</Button>}
        </>
      )}
      {count > 1 && <Pager at={index} count={count} text={t("run.look_picture", { index: index + 1, count })} onTurn={setIndex} />}
      {elements !== null && elements > 1 && (
        <Pager at={at} count={elements} text={t("run.look_element", { index: at + 1, count: elements })} onTurn={(next) => { setAt(next); setIndex(0); }} />
      )}
    </div>
  );
}

function useValue(job: string, node: string, port: string, index: number, element: number | null): Found {
  const [found, setFound] = useState<Found>(null);
  useEffect(() => {
    const abort = new AbortController();
    readValue({ job, node, port, index, element }, abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setFound({ value });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setFound({ refused: sentence(error), isGone: error instanceof Problem && error.code === "not_found" });
      },
    );
    return () => abort.abort();
  }, [job, node, port, index, element]);
  return found;
}

function Pager({ at, count, text, onTurn }: { at: number; count: number; text: string; onTurn(at: number): void }): React.ReactNode {
  const t = useTexts();
  return (
    <div className={styles["pager"]}>
      <Button kind="quiet" label={t("run.look_previous")} disabled={at === 0} onClick={() => onTurn(at - 1)}>‹</Button>
      <span aria-live="polite">{text}</span>
      <Button kind="quiet" label={t("run.look_next")} disabled={at >= count - 1} onClick={() => onTurn(at + 1)}>›</Button>
    </div>
  );
}

async function openLarge(url: string, name: string): Promise<void> {
  const { openPicture } = await import("../viewer/Viewer");
  openPicture(url, name);
}

function Shown({ value, name, alt, large }: { readonly value: Value; readonly name: string; readonly alt: string; readonly large: string }): React.ReactNode {
  const t = useTexts();
  if ("picture" in value) {
    return (
      <button type="button" className={styles["large"]} title={t("run.look_large")} onClick={() => void openLarge(large, name)}>
        <Picture blob={value.picture} alt={alt} />
      </button>
    );
  }
  if ("value" in value) {
    return (
      <>
        <pre className={styles["plain"]}>{valueText(value.value)}</pre>
        {value.is_cut === true && <p className={styles["text"]}>{t("run.look_cut")}</p>}
      </>
    );
  }
  return (
    <>
      <p className={styles["text"]}>{value.type}</p>
      <table className={styles["facts"]}>
        <tbody>
          {value.tensors.map((tensor) => <Tensor key={tensor.name} tensor={tensor} />)}
          {Object.entries(value.fields).map(([name, field]) => (
            <tr key={name}><th scope="row">{name}</th><td>{valueText(field)}</td></tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Tensor({ tensor }: { readonly tensor: TensorFacts }): React.ReactNode {
  const t = useTexts();
  const range = tensor.min === null || tensor.max === null ? "" : t("run.look_range", { min: valueText(tensor.min), max: valueText(tensor.max) });
  return (
    <tr>
      <th scope="row">{tensor.name}</th>
      <td>{tensor.shape.join(" × ")} {tensor.dtype}<br />{range}</td>
    </tr>
  );
}

function Picture({ blob, alt }: { readonly blob: Blob; readonly alt: string }): React.ReactNode {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url === null ? null : <img src={url} alt={alt} className={styles["picture"]} />;
}
