// Package dashboards holds the Grafana dashboards and the Prometheus alerts of deploy/ against what edges
// export: two replicas on a Redis are used until every series has appeared, and each query's metrics and
// labels, found by Prometheus's own parser (tools/promql), are looked up in what they serve at /metrics.
package dashboards
