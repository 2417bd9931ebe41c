/** In a file of its own: settings of the page are the server's, and stay for what comes after. */

import { longFlow } from "./rig/flow";
import { button, nodesShown, showPanel } from "./rig/page";
import { until } from "./rig/until";

longFlow("the language is changed in the settings, and stays after a reload", async ({ open }) => {
  const page = await open();
  await nodesShown(page);
  const settings = await showPanel(page, "Settings");
  const language = settings.getByLabel("Language");
  if ((await language.evaluate((one) => one.tagName)) === "SELECT") await language.selectOption("de");
  else await settings.getByText("Deutsch").click();
  await button(page, "Ausführen").waitFor();
  await until("the setting to be kept", async () => page.evaluate(() => document.documentElement.lang === "de"));
  await page.reload();
  await button(page, "Ausführen").waitFor();
});
