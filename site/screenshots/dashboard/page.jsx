// The page with the dashboard in globalThis.dashboard, in the scheme that the reader prefers, of a Prometheus at /prometheus
// that scrapes each globalThis.scrapeInterval.
import { ChartsProvider, generateChartsTheme, getTheme, SnackbarProvider } from "@perses-dev/components";
import { Dashboard, DashboardProvider, DatasourceStoreProvider, VariableProvider } from "@perses-dev/dashboards";
import { dynamicImportPluginLoader, PluginRegistry, TimeRangeProvider } from "@perses-dev/plugin-system";
import * as prometheus from "@perses-dev/prometheus-plugin";
import * as stat from "@perses-dev/stat-chart-plugin";
import * as timeseries from "@perses-dev/timeseries-chart-plugin";
import { CssBaseline, ThemeProvider, Typography, Box } from "@mui/material";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { MemoryRouter } from "react-router-dom";

const { dashboard } = globalThis;

const source = {
  kind: "GlobalDatasource",
  metadata: { name: "prometheus" },
  spec: { default: true, plugin: { kind: "PrometheusDatasource", spec: { directUrl: "/prometheus", scrapeInterval: globalThis.scrapeInterval } } },
};
const sources = {
  buildProxyUrl: () => "/prometheus",
  getDatasource: async () => undefined,
  getGlobalDatasource: async () => source,
  listDatasources: async () => [],
  listGlobalDatasources: async () => [source],
};

const plugins = dynamicImportPluginLoader(
  [prometheus, stat, timeseries].map((plugin) => ({ resource: plugin.getPluginModule(), importPlugin: async () => plugin })),
);
const queries = new QueryClient({ defaultOptions: { queries: { refetchOnWindowFocus: false, retry: 0 } } });
const theme = getTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
const defaults = { Panel: "TimeSeriesChart", TimeSeriesQuery: "PrometheusTimeSeriesQuery" };

function Page() {
  const [range, setRange] = useState({ pastDuration: dashboard.spec.duration });
  return (
    <TimeRangeProvider timeRange={range} setTimeRange={setRange} refreshInterval="0s" setRefreshInterval={() => {}}>
      <VariableProvider>
        <DatasourceStoreProvider dashboardResource={dashboard} datasourceApi={sources}>
          <DashboardProvider initialState={{ dashboardResource: dashboard, isEditMode: false }}>
            <Box sx={{ p: 2 }}>
              <Typography variant="h2" sx={{ mb: 1 }}>{dashboard.spec.display.name}</Typography>
              <Dashboard />
            </Box>
          </DashboardProvider>
        </DatasourceStoreProvider>
      </VariableProvider>
    </TimeRangeProvider>
  );
}

createRoot(document.getElementById("root")).render(
  <MemoryRouter>
    <QueryClientProvider client={queries}>
      <ThemeProvider theme={theme}>
        <CssBaseline />
        <ChartsProvider chartsTheme={generateChartsTheme(theme, {})}>
          <SnackbarProvider>
            <PluginRegistry pluginLoader={plugins} defaultPluginKinds={defaults}>
              <Page />
            </PluginRegistry>
          </SnackbarProvider>
        </ChartsProvider>
      </ThemeProvider>
    </QueryClientProvider>
  </MemoryRouter>,
);
