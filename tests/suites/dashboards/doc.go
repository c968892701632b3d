// Package dashboards holds the Grafana dashboards, the Prometheus alerts of deploy/ and the queries of docs/ against
// what edges export: two replicas on a Redis are used until every series has appeared. Each query's metrics and
// labels, found by Prometheus's own parser (tools/promql), are looked up in what they serve at /metrics, and
// Prometheus's own engine asks the query of it: it has to give something.
package dashboards
