import { socket, useConnection } from "../state/connection";
import type { Command } from "./command";

const retryConnection: Command = {
  id: "retry_connection",
  title: "run.command_retry",
  group: "run.group",
  enabled: () => useConnection.getState().state !== "connected",
  run: () => socket.retryNow(),
};
export default retryConnection;
