// Takes the picture of a terminal: a shell runs the commands of the front page in a network of its own, so that the addresses are free, and xterm.js shows
// every byte that it printed.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const root = new URL("../..", import.meta.url).pathname;
const [columns, rows] = [112, 50];

/** What is typed, and what is printed once the next may be. */
const session = [
  ["go run ./edge --log-level=warn &", /\/dev\r?\n/],
  [`go run ./edge call http://127.0.0.1:8080/mcp calculator_arithmetic '{"expression":"2^10 + sqrt(2)"}'`, /1025\.4\d+/],
  ["go run ./capability/example/greeter --listen 127.0.0.1:50051 &", /msg=serving|INFO serving/],
  [`go run ./edge check --backend greeter=127.0.0.1:50051 --call 'greet={"Name":"Ada"}'`, /nothing breaks the contract/],
];
const prompt = "$ ";

/** Runs the session, and gives what the terminal got. Each command has a minute; the first builds. */
async function record() {
  const shell = `ip link set lo up; stty cols ${columns} rows ${rows}; exec env PS1='${prompt}' bash --norc --noprofile -i`;
  const env = { ...process.env, TERM: "xterm-256color", HISTFILE: "/dev/null" };
  // A process namespace of its own ends with the shell, and all that it started.
  const child = spawn("unshare", ["-rnpf", "--kill-child", "--mount-proc", "script", "-qec", shell, "/dev/null"], { cwd: root, env, stdio: ["pipe", "pipe", "inherit"] });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
  const ended = new Promise((end) => child.on("exit", end));
  const wait = async (from, pattern) => {
    for (const late = Date.now() + 120_000; !pattern.test(printed.slice(from)); await new Promise((next) => setTimeout(next, 50))) {
      if (Date.now() > late || child.exitCode !== null) throw new Error(`the terminal does not show ${pattern}:\n${printed}`);
    }
  };
  try {
    await wait(0, /\$ $|\$ \x1b/);
    for (const [command, shown] of session) {
      if (printed.endsWith("\n")) { // what runs in the background has printed below the prompt
        const below = printed.length;
        child.stdin.write("\n");
        await wait(below, /\$ $/);
      }
      const from = printed.length;
      child.stdin.write(`${command}\n`);
      await wait(from + command.length, shown);
      await new Promise((next) => setTimeout(next, 300)); // what else it prints, and the prompt
    }
    return printed;
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

const themes = {
  light: { background: "#ffffff", foreground: "#1f2328", cursor: "#ffffff" },
  dark: { background: "#0d1117", foreground: "#e6edf3", cursor: "#0d1117" },
};

/** Takes the picture in both schemes. */
export async function takeTerminal({ browser, picture }) {
  const printed = await record();
  const xterm = new URL("node_modules/@xterm/xterm/", import.meta.url);
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Terminal</title>
    <style>${readFileSync(new URL("css/xterm.css", xterm))} body { margin: 0 } #terminal { padding: 16px; display: inline-block }</style>
    <div id="terminal"></div><script>${readFileSync(new URL("lib/xterm.js", xterm))}</script>
    <script>
      const theme = ${JSON.stringify(themes)}[matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"];
      document.body.style.background = theme.background;
      const terminal = new Terminal({ cols: ${columns}, rows: ${rows}, theme, fontFamily: "DejaVu Sans Mono, monospace", fontSize: 14, scrollback: 0 });
      terminal.open(document.getElementById("terminal"));
      terminal.write(${JSON.stringify(printed).replaceAll("<", "\\u003c")}, () => (globalThis.done = true));
    </script></html>`;
  const server = createServer((_, response) => response.setHeader("Content-Type", "text/html").end(html));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  for (const scheme of ["light", "dark"]) {
    await picture(browser, "terminal", scheme, `http://127.0.0.1:${server.address().port}/`, { width: 1100, height: 1000 }, async (tab) => {
      await tab.waitForFunction(() => globalThis.done && document.querySelector(".xterm-rows")?.innerText.includes("nothing breaks"));
      // Down to the last row that has text.
      return tab.evaluate(() => {
        const lines = [...document.querySelectorAll(".xterm-rows > div")].filter((row) => row.textContent.trim());
        const { width } = document.getElementById("terminal").getBoundingClientRect();
        return { x: 0, y: 0, width: Math.ceil(width), height: Math.ceil(lines.at(-1).getBoundingClientRect().bottom + 16) };
      });
    });
  }
  server.closeAllConnections();
  server.close();
}
