package rpc

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// metrics of the server. Counters know the method and times the service only, so that their numbers add up instead of multiplying.
type metrics struct {
	handled, refused, closed *prometheus.CounterVec
	took                     *prometheus.HistogramVec
}

func newMetrics() metrics {
	return metrics{
		handled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_handled_total", Help: "Calls that have ended, with or without success.",
		}, []string{"grpc_service", "grpc_method", "grpc_code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "grpc_server_handling_seconds", Help: "Time from the headers of a call to its end.",
			Buckets: []float64{.001, .005, .025, .1, .5, 1, 2.5, 5, 10, 30, 120},
		}, []string{"grpc_service"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_refused_calls_total",
			Help: "Calls that were refused: unknown (no accepted identity), off (not enabled), forbidden or busy (too much under way).",
		}, []string{"reason"}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_closed_connections_total",
			Help: "Connections that were closed: answer not read, idle longest of a caller with too many, " +
				"not a call, or, without a permitted call, no call, too many bytes, " +
				"too many refusals, crowded out, too often or full.",
		}, []string{"reason"}),
	}
}

// register adds them, and the number of connections.
func (m metrics) register(registerer prometheus.Registerer, connections func() (callers, strangers int)) error {
	if registerer == nil {
		return nil
	}
	count := func(which string, get func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cloudgateway_connections", Help: "Open connections, of callers and of strangers, who have made no permitted call yet.",
			ConstLabels: prometheus.Labels{"of": which},
		}, func() float64 { return float64(get()) })
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.handled, m.took, m.refused, m.closed,
		count("callers", func() int { callers, _ := connections(); return callers }),
		count("strangers", func() int { _, strangers := connections(); return strangers }),
	} {
		errs = append(errs, registerer.Register(c))
	}
	return errors.Join(errs...)
}

// ended notes the end of a call.
func (m metrics) ended(fullMethod string, begun time.Time, err error) {
	service, method, _ := strings.Cut(strings.TrimPrefix(fullMethod, "/"), "/")
	m.handled.WithLabelValues(service, method, status.Code(err).String()).Inc()
	m.took.WithLabelValues(service).Observe(time.Since(begun).Seconds())
}

// unary measures the calls of unary methods.
func (m metrics) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	begun := time.Now()
	response, err := next(ctx, req)
	m.ended(info.FullMethod, begun, err)
	return response, err
}
