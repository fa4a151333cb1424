// Package alerts tests the alerts and the dashboard of the chart with the engine of Prometheus. It is a module of its own, so that what
// Prometheus requires is in none of ours.
package alerts
