// Makes a dashboard of Perses from one of Grafana: its rows of panels of the types stat and timeseries, with titles, places, queries, legends, units and
// thresholds. Other types are left out.

const perSecond = { unit: "decimal", shortValues: true };
const units = {
  short: { unit: "decimal", shortValues: true },
  s: { unit: "seconds" },
  ops: perSecond,
  reqps: perSecond,
  percentunit: { unit: "percent-decimal", decimalPlaces: 1 },
  bytes: { unit: "bytes" },
  Bps: { unit: "bytes/sec" },
};
const colors = { red: "#d32f2f", yellow: "#b7791f", orange: "#c2560c", green: "#43a047" };

function format(panel) {
  const { unit, decimals } = panel.fieldConfig.defaults;
  if (!units[unit]) throw new Error(`${panel.title}: the unit ${unit} is not translated`);
  return { ...units[unit], ...(decimals !== undefined && { decimalPlaces: decimals }) };
}

function thresholds({ steps }) {
  const color = (name) => colors[name] ?? name;
  return { defaultColor: color(steps[0].color), steps: steps.slice(1).map((s) => ({ value: s.value, color: color(s.color) })) };
}

const plugins = {
  stat: (panel) => ({
    kind: "StatChart",
    spec: { calculation: "last-number", format: format(panel), thresholds: thresholds(panel.fieldConfig.defaults.thresholds), valueFontSize: 30 },
  }),
  timeseries: (panel) => {
    const { custom, min, unit } = panel.fieldConfig.defaults;
    return {
      kind: "TimeSeriesChart",
      spec: {
        legend: { position: "bottom", mode: "list", size: "small" },
        yAxis: { format: format(panel), ...(units[unit] === perSecond && { label: "per second" }), ...(min !== undefined && { min }) },
        visual: {
          display: "line", lineWidth: custom.lineWidth, areaOpacity: custom.fillOpacity / 100, palette: { mode: "categorical" },
          stack: custom.stacking?.mode === "normal" ? "all" : "none", connectNulls: false,
        },
      },
    };
  },
};

/** The values of Grafana's variables: every job and replica. The rate's interval is four scrapes, as Grafana has it. */
function expression(expr, scrapeSeconds, rangeSeconds) {
  return expr.replaceAll("$__rate_interval", `${4 * scrapeSeconds}s`).replaceAll("$__range", `${rangeSeconds}s`).replace(/\$(job|replica|tool)\b/g, ".*");
}

/** Grafana's row of its grid is higher. */
const rowHeight = 1.25;

/** The dashboard; rows names which to take. */
export function translate(grafana, rows, { scrapeSeconds, rangeSeconds }) {
  const panels = {};
  const layouts = [];
  let top = 0;
  for (const panel of grafana.panels) {
    if (panel.type === "row") {
      top = panel.gridPos.y + 1;
      if (rows.includes(panel.title)) layouts.push({ kind: "Grid", spec: { display: { title: panel.title, collapse: { open: true } }, items: [] } });
      else layouts.push(undefined);
      continue;
    }
    const layout = layouts.at(-1);
    if (!layout || !plugins[panel.type]) continue;
    const { x, y, w, h } = panel.gridPos;
    panels[panel.id] = {
      kind: "Panel",
      spec: {
        display: { name: panel.title },
        plugin: plugins[panel.type](panel),
        queries: panel.targets.map((target) => ({
          kind: "TimeSeriesQuery",
          spec: {
            plugin: {
              kind: "PrometheusTimeSeriesQuery",
              spec: { query: expression(target.expr, scrapeSeconds, rangeSeconds), seriesNameFormat: target.legendFormat },
            },
          },
        })),
      },
    };
    layout.spec.items.push({ x, y: Math.round((y - top) * rowHeight), width: w, height: Math.round(h * rowHeight), content: { $ref: `#/spec/panels/${panel.id}` } });
  }
  return {
    kind: "Dashboard",
    metadata: { name: grafana.uid, project: "mcpedge", version: 0 },
    spec: { display: { name: grafana.title }, duration: `${rangeSeconds}s`, refreshInterval: "0s", variables: [], panels, layouts: layouts.filter(Boolean) },
  };
}
