package app

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"alicloud-controllers.dev/proto/method"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
	"alicloud-controllers.dev/cloudgateway/internal/server"
)

// TestSeriesAreBounded: after three callers have called all methods, and twenty all actions, each with all priorities,
// Prometheus stores at most 2 400 series of the whole process. They are counted in what it reads. Each of the twenty
// calls a fourth of the actions, so that each action has five callers: 700 series would be too many already.
func TestSeriesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute: make test runs it, make quick and -short do not")
	}
	const callers, apart, most = 20, 4, 2400
	w := newWorld(t)
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	api := config.API{Enable: method.ToolServices()}
	var wide []string
	for _, row := range rampolicy.Rows() {
		if row.Product == openapi.Quotas {
			continue // The doctor has no budget.
		}
		wide = append(wide, fmt.Sprintf("%s/%s: {calls: 100000, window: 60s}", row.Product, row.Action))
	}
	w.file = w.write("all.yaml", strings.NewReplacer(
		"[vpc.v1.NetworkService, slb.v1.CertificateService]", "["+strings.Join(api.Enable, ", ")+"]", "level: debug", "level: error",
		"budget: {", "budget: {share: 1, overrides: {"+strings.Join(wide, ", ")+"}, ",
	).Replace(string(text))+election)
	g := w.start()
	w.dial("writer")
	tls, err := credentials.NewClientTLSFromFile(w.dir+"/tls.crt", "cloudgateway")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(w.addr, grpc.WithTransportCredentials(tls))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name := range server.Policies(api) {
		// Calls of a stranger, of a caller who may do little, and of one whose requests lack everything.
		for _, token := range []string{"guess", "reader", "writer"} {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
			_ = conn.Invoke(ctx, name, &emptypb.Empty{}, &emptypb.Empty{}) // What comes of it is another test's.
		}
	}
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for j, row := range rampolicy.Rows() {
				if (i+j)%apart != 0 {
					continue
				}
				priority := flow.Background + flow.Priority((i+j)/apart)%flow.Backend
				caller := flow.Caller{Name: fmt.Sprintf("system:serviceaccount:team-%d:caller", i), Priority: priority}
				call := openapi.Call{Product: row.Product, Action: row.Action, Params: map[string]string{"RegionId": "cn-hangzhou"}}
				ctx, cancel := context.WithCancel(flow.WithCaller(g.gate.within(t.Context()), caller))
				if priority == flow.Background && i == 0 {
					cancel() // Somebody gives up.
				}
				_, _ = g.openapi.Do(ctx, call, &map[string]any{})
				cancel()
			}
		})
	}
	all.Wait()
	_, page := w.get("/metrics")
	families := map[string]int{}
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		if name, _, ok := strings.Cut(lines.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			name, _, _ = strings.Cut(name, "{")
			families[name]++
			families[""]++
		}
	}
	series := families[""]
	delete(families, "")
	if series > most {
		t.Errorf("%d series, want at most %d", series, most)
	}
	var largest []string
	for name := range families {
		largest = append(largest, name)
	}
	slices.SortFunc(largest, func(a, b string) int { return families[b] - families[a] })
	for _, name := range largest[:10] {
		t.Logf("%5d %s", families[name], name)
	}
	// What grows with the product of callers and actions is seen: such a family alone would have more than are left.
	if pairs := callers * len(rampolicy.Rows()) / apart; series+pairs <= most {
		t.Errorf("%d series are left of %d: the test shows nothing of %d pairs", most-series, most, pairs)
	}
	t.Logf("%d series of %d callers who called %d actions and %d methods", series, callers, len(rampolicy.Rows()), len(server.Policies(api)))
	if families["cloudgateway_openapi_calls_total"] < len(rampolicy.Rows()) || families["cloudgateway_budget_calls_total"] < 4*callers {
		t.Error("not every action was called, or not by every caller: the test shows nothing")
	}
}
