package rpc

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/proto/tlstest"
)

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	called := map[string]int{}
	count := func(ctx context.Context) error {
		caller, _ := CallerFrom(ctx)
		called[caller.Name]++
		return nil
	}
	w.handler.get, w.handler.remove = count, count
	for _, tc := range []struct {
		name, token   string
		get, remove   codes.Code
		reason        rpcerr.Reason // of remove
		removeMessage string
	}{
		{name: "editor", token: tokenEditor},
		{name: "viewer", token: tokenViewer, remove: codes.PermissionDenied, reason: rpcerr.CallerForbidden,
			removeMessage: "viewer may not delete loadbalancers"},
		{name: "unknown token", token: "guess", get: codes.Unauthenticated, remove: codes.Unauthenticated, reason: rpcerr.CallerUnauthenticated,
			removeMessage: "the token is not accepted"},
		{name: "caller can't be looked up", token: "outage", get: codes.DeadlineExceeded, remove: codes.DeadlineExceeded,
			removeMessage: "context deadline exceeded"},
	} {
		conn := w.dial(tc.token)
		if e, _ := rpcerr.From(w.get(conn)); codeOf(e) != tc.get {
			t.Errorf("%s: get = %v, want %s", tc.name, e, tc.get)
		}
		e, _ := rpcerr.From(w.remove(conn))
		if codeOf(e) != tc.remove || e != nil && (e.Reason != tc.reason || e.Message != tc.removeMessage) {
			t.Errorf("%s: remove = %v, want %s %s %q", tc.name, e, tc.remove, tc.reason, tc.removeMessage)
		}
	}
	w.stop()
	if diff := cmp.Diff(map[string]int{"editor": 2, "viewer": 1}, called); diff != "" {
		t.Errorf("calls that reached the handler (-want +got):\n%s", diff)
	}
	for _, want := range []string{"msg=refused caller=viewer", "msg=\"caller is not known\" address=127.0.0.1:"} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, w.log)
		}
	}
	for _, token := range []string{tokenEditor, tokenViewer} {
		if strings.Contains(w.log.String(), token) {
			t.Errorf("the log shows a token:\n%s", w.log)
		}
	}
}

// TestRefusalsLeaveFewLines: who calls again and again without an accepted token does not fill the log.
func TestRefusalsLeaveFewLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	const calls = 50
	begun := time.Now()
	conn := w.dial("guess")
	for range calls {
		if e, _ := rpcerr.From(w.get(conn)); codeOf(e) != codes.Unauthenticated {
			t.Fatalf("got %v", e)
		}
	}
	w.stop()
	most := 1 + int(time.Since(begun)/(10*time.Second))
	if lines := strings.Count(w.log.String(), "caller is not known"); lines == 0 || lines > most {
		t.Errorf("%d lines about %d calls, at most %d are right", lines, calls, most)
	}
}

// TestMethodsThatAreOff: a known caller learns how to have the method, whatever it may do; the handler is not called.
func TestMethodsThatAreOff(t *testing.T) {
	t.Parallel()
	const why = "is offered if api.enable lists it"
	w := newWorld(t, func(cfg *Config) {
		row := cfg.Policies[slbv1.LoadBalancerService_DeleteLoadBalancer_FullMethodName]
		row.Off = why
		cfg.Policies[slbv1.LoadBalancerService_DeleteLoadBalancer_FullMethodName] = row
	})
	called := false
	w.handler.remove = func(context.Context) error {
		called = true
		return nil
	}
	for _, tc := range []struct {
		token string
		want  codes.Code
	}{{tokenEditor, codes.Unimplemented}, {tokenViewer, codes.Unimplemented}, {"guess", codes.Unauthenticated}} {
		e, _ := rpcerr.From(w.remove(w.dial(tc.token)))
		if codeOf(e) != tc.want || strings.Contains(e.Message, why) != (tc.want == codes.Unimplemented) {
			t.Errorf("%s: got %v, want %s", tc.token, e, tc.want)
		}
	}
	if err := w.get(w.dial(tokenEditor)); err != nil {
		t.Errorf("another method: %v", err)
	}
	w.stop()
	if called {
		t.Error("the handler was called")
	}
}

// TestContext: what Config.Context makes of the caller and the method's policy is what the handler gets.
func TestContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	w := newWorld(t, func(cfg *Config) {
		cfg.Context = func(ctx context.Context) context.Context {
			caller, _ := CallerFrom(ctx)
			policy, _ := PolicyFrom(ctx)
			return context.WithValue(ctx, key{}, caller.Name+" may "+policy.Verb)
		}
	})
	var got any
	w.handler.remove = func(ctx context.Context) error {
		got = ctx.Value(key{})
		return nil
	}
	if err := w.remove(w.dial(tokenEditor)); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if want := "editor may delete"; got != want {
		t.Errorf("the handler got %v, want %s", got, want)
	}
}

func codeOf(e *rpcerr.Error) codes.Code {
	if e == nil {
		return codes.OK
	}
	return e.Code
}

func TestBearer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if _, _, err := w.server.identify(t.Context(), "/other.Service/Method"); codeOfErr(err) != codes.Unimplemented {
		t.Errorf("a method without a policy gives %v", err)
	}
	for _, header := range []string{"", "Bearer", "Bearer ", "Basic dXNlcg==", tokenEditor} {
		_, _, err := w.server.identify(incoming(t.Context(), header), slbv1.LoadBalancerService_GetLoadBalancer_FullMethodName)
		if rpcerr.ReasonOf(err) != rpcerr.CallerUnauthenticated {
			t.Errorf("authorization %q gives %v", header, err)
		}
	}
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conn := w.dial(tokenEditor)
	w.handler.remove = func(ctx context.Context) error {
		if p, _ := PolicyFrom(ctx); p.Priority != 7 {
			return fmt.Errorf("priority is %d", p.Priority)
		}
		NoteCloudRequest(ctx, "R-0")
		NoteCloudRequest(ctx, "R-1")
		NoteReplay(ctx)
		return fmt.Errorf("release lb-1: %w", &rpcerr.Error{
			Code: codes.FailedPrecondition, Reason: rpcerr.DeleteProtected, Message: "it is protected", CloudCode: "Protected",
			CloudRequestID: "R-1",
		})
	}
	if err := w.get(conn); err != nil {
		t.Error(err)
	}
	if err := w.remove(conn); err == nil || err.Error() != "release lb-1: it is protected (DELETE_PROTECTED, Protected, request R-1)" {
		t.Errorf("the client gets %v", err)
	}
	if err := w.remove(w.dial(tokenViewer)); err == nil {
		t.Error("the viewer removes")
	}
	w.stop()
	var audits []string
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "msg=audit") {
			audits = append(audits, line)
		}
	}
	if len(audits) != 2 {
		t.Fatalf("%d audit lines, want one for what was tried and one for what was refused:\n%s", len(audits), w.log)
	}
	for _, want := range []string{"caller=viewer", "address=127.0.0.1:", "DeleteLoadBalancer", "outcome=CALLER_FORBIDDEN"} {
		if !strings.Contains(audits[1], want) {
			t.Errorf("the audit line of the refused write lacks %s: %s", want, audits[1])
		}
	}
	for _, want := range []string{
		"caller=editor", "method=/cloudgateway.slb.v1.LoadBalancerService/DeleteLoadBalancer", "outcome=DELETE_PROTECTED",
		"resource.load_balancer_id=lb-1", "cloudRequestId=R-1", "cloudRequestIds=\"[R-0 R-1]\"", "duration=",
		"requestId=r-1 ", "replayed=true", "address=127.0.0.1:",
	} {
		if !strings.Contains(audits[0], want) {
			t.Errorf("the audit line lacks %s: %s", want, audits[0])
		}
	}
}

// TestAuditLines: the line of a creation has what was created, and that of an update the names of the fields that it sets.
func TestAuditLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.Policies[slbv1.LoadBalancerService_UpdateLoadBalancer_FullMethodName] = Policy{
			Resource: "loadbalancers", Verb: "update", Timeout: time.Minute, Mutating: true,
		}
	})
	w.handler.answer = "lb-made"
	client := w.dial(tokenEditor).Client().LoadBalancers
	if _, err := client.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{Name: "web", RequestId: "r-1"}); err != nil {
		t.Error(err)
	}
	_, err := client.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-1", DeleteProtection: new(false)})
	if codeOfErr(err) != codes.Unimplemented { // By this handler.
		t.Error(err)
	}
	w.stop()
	for method, want := range map[string][]string{
		"CreateLoadBalancer": {"resource.name=web", "created.load_balancer_id=lb-made"},
		"UpdateLoadBalancer": {"resource.load_balancer_id=lb-1", "fields=[delete_protection]"},
	} {
		found := ""
		for line := range strings.Lines(w.log.String()) {
			if strings.Contains(line, "msg=audit") && strings.Contains(line, "/"+method+" ") {
				found = line
			}
		}
		for _, part := range want {
			if !strings.Contains(found, part) {
				t.Errorf("the line of %s lacks %s: %s", method, part, found)
			}
		}
	}
}

// TestAuditOfChanges: the line of a creation has what was made, that of a change the names of the fields, and none
// has their values.
func TestAuditOfChanges(t *testing.T) {
	attrs := func(found []slog.Attr) string { return slog.GroupAttrs("x", found...).Value.String() }
	made := &slbv1.CreateLoadBalancerResponse{LoadBalancer: &slbv1.LoadBalancer{LoadBalancerId: "lb-1", Name: "web"}}
	if got := attrs(madeBy(made.ProtoReflect())); !strings.Contains(got, "load_balancer_id=lb-1") || !strings.Contains(got, "name=web") {
		t.Errorf("made: %s", got)
	}
	rules := []*slbv1.ForwardingRuleResult{{RuleId: "rule-1"}, {RuleId: "rule-2"}}
	batch := &slbv1.BatchCreateForwardingRulesResponse{Results: rules}
	if got := attrs(madeBy(batch.ProtoReflect())); !strings.Contains(got, "rule-1 rule-2") {
		t.Errorf("a batch made: %s", got)
	}
	if got := attrs(identifiers((&slbv1.CreateLoadBalancerRequest{Name: "web"}).ProtoReflect())); !strings.Contains(got, "name=web") {
		t.Errorf("asked for: %s", got)
	}
	update := &slbv1.UpdateListenerRequest{
		Key:     &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80},
		Config:  &slbv1.ListenerConfig{ServerGroupId: new("rsp-1"), BandwidthMbps: new(int32(5))},
		SetTags: []*commonv1.Tag{{Key: "a", Value: "b"}},
	}
	want := []string{"config.bandwidth_mbps", "config.server_group_id", "set_tags"}
	if diff := cmp.Diff(want, fieldsOf(update.ProtoReflect(), "")); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	protection := &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-1", DeleteProtection: new(false)}
	if diff := cmp.Diff([]string{"delete_protection"}, fieldsOf(protection.ProtoReflect(), "")); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// TestIdentifiersOfLists: the audit line says which things a request is about, and does not grow with their number.
func TestIdentifiersOfLists(t *testing.T) {
	t.Parallel()
	many := &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: "vpc-1"}
	for i := range 7 {
		many.RouteEntries = append(many.RouteEntries, &vpcv1.RouteEntry{RouteTableId: "vtb-1",
			DestinationCidr: fmt.Sprintf("10.0.%d.0/24", i), NextHopId: "i-1"})
	}
	for _, tt := range []struct {
		request proto.Message
		want    string
	}{
		{many, "resource.route_entries.count=7 resource.route_entries.first=\"[vtb-1 10.0.0.0/24 i-1 vtb-1 10.0.1.0/24 i-1"},
		{&slbv1.ApplyServerChangesRequest{ServerGroupId: "rsp-1", Add: []*slbv1.Server{{ServerId: "i-1", ServerIp: "10.0.0.1"}}},
			`resource.server_group_id=rsp-1 resource.add.count=1 resource.add.first="[i-1 10.0.0.1]"`},
		{&slbv1.BatchDeleteForwardingRulesRequest{Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80}, RuleIds: []string{"rule-1"}},
			"resource.rule_ids.count=1 resource.rule_ids.first=[rule-1]"},
	} {
		var log bytes.Buffer
		group := slog.GroupAttrs("resource", identifiers(tt.request.ProtoReflect())...)
		//nolint:sloglint // The attributes are what is tested.
		slog.New(slog.NewTextHandler(&log, nil)).LogAttrs(t.Context(), slog.LevelInfo, "", group)
		if got := log.String(); !sameFields(got, tt.want) {
			t.Errorf("got %s, want %s", got, tt.want)
		}
		if log.Len() > 600 {
			t.Errorf("%d bytes: %s", log.Len(), &log)
		}
	}
}

// sameFields: protoreflect goes through fields in any order.
func sameFields(got, want string) bool {
	for field := range strings.SplitSeq(want, " resource.") {
		if !strings.Contains(got, field) {
			return false
		}
	}
	return true
}

// TestUnsent: that nothing was sent holds of a method only if it holds of all its requests.
func TestUnsent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conn := w.dial(tokenEditor)
	for _, changed := range []bool{false, true} {
		w.handler.remove = func(ctx context.Context) error {
			if changed {
				NoteCloudChange(ctx)
			}
			return fmt.Errorf("release lb-1: %w", &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled,
				Message: "no room", Unsent: true})
		}
		err := w.remove(conn)
		if rpcerr.IsUnsent(err) == changed || err == nil || err.Error() != "release lb-1: no room (THROTTLED)" {
			t.Errorf("changed %t: %v", changed, err)
		}
	}
}

// TestLongIDsAreCut: what a caller sends is logged before its form is checked.
func TestLongIDsAreCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.dial(tokenEditor).Client().LoadBalancers.DeleteLoadBalancer(t.Context(), &slbv1.DeleteLoadBalancerRequest{
		LoadBalancerId: strings.Repeat("l", 1<<18), RequestId: strings.Repeat("r", 1<<18),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.stop()
	if n := len(w.log.String()); n > 4096 {
		t.Errorf("%d bytes of log", n)
	}
}

// TestInterceptor: it sees what is allowed and nothing else, and may answer by itself.
func TestInterceptor(t *testing.T) {
	t.Parallel()
	var seen []string
	w := newWorld(t, func(c *Config) {
		c.Interceptor = func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			caller, _ := CallerFrom(ctx)
			seen = append(seen, caller.Name+" "+path.Base(info.FullMethod))
			if info.FullMethod == slbv1.LoadBalancerService_DeleteLoadBalancer_FullMethodName {
				return &slbv1.DeleteLoadBalancerResponse{}, nil
			}
			return next(ctx, req)
		}
	})
	w.handler.remove = func(context.Context) error { return errors.New("the handler is called") }
	if err := w.remove(w.dial(tokenEditor)); err != nil {
		t.Error(err)
	}
	conn := w.dial(tokenViewer)
	if err := w.remove(conn); rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
		t.Errorf("the viewer gets %v", err)
	}
	if err := w.get(conn); err != nil {
		t.Error(err)
	}
	w.stop()
	if want := []string{"editor DeleteLoadBalancer", "viewer GetLoadBalancer"}; !slices.Equal(seen, want) {
		t.Errorf("it saw %q, want %q", seen, want)
	}
}

func TestErrorsOfHandlers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conn := w.dial(tokenEditor)
	for _, tc := range []struct {
		name    string
		handler func(context.Context) error
		want    codes.Code
		reason  rpcerr.Reason
		logged  string
	}{
		{name: "panic", handler: func(context.Context) error { panic("boom") }, want: codes.Internal, reason: rpcerr.Internal,
			logged: "panic=boom"},
		{name: "without a reason", handler: func(context.Context) error { return errors.New("secret path /x") }, want: codes.Internal,
			reason: rpcerr.Internal, logged: "secret path /x"},
		{name: "deadline", handler: func(context.Context) error { return context.DeadlineExceeded }, want: codes.DeadlineExceeded},
	} {
		w.handler.remove = tc.handler
		err := w.remove(conn)
		e, ok := rpcerr.From(err)
		if !ok || e.Code != tc.want || e.Reason != tc.reason {
			t.Errorf("%s: the client gets %v, want %s", tc.name, err, tc.want)
		}
		if tc.logged != "" && strings.Contains(err.Error(), tc.logged) {
			t.Errorf("%s: the client's error contains %q", tc.name, tc.logged)
		}
		if !strings.Contains(w.log.String(), tc.logged) {
			t.Errorf("%s: the log lacks %q", tc.name, tc.logged)
		}
	}
	if n := strings.Count(w.log.String(), "msg=audit"); n != 3 {
		t.Errorf("%d audit lines, want 3", n)
	}
	got, err := testutil.GatherAndCount(w.registry, "grpc_server_handled_total")
	if err != nil || got == 0 {
		t.Errorf("%d metrics, %v", got, err)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		// caller is the caller's time, 0 for none; policy the method's.
		caller, policy time.Duration
		// want is the handler's time; 0: it is not called.
		want time.Duration
	}{
		{name: "caller has none", policy: time.Minute, want: time.Minute},
		{name: "caller has less", caller: 10 * time.Second, policy: time.Minute, want: 10*time.Second - shave},
		{name: "caller has more", caller: time.Hour, policy: time.Minute, want: time.Minute},
		{name: "too little", caller: 90 * time.Millisecond, policy: time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := context.WithValue(t.Context(), policyKey{}, Policy{Timeout: tc.policy})
				if tc.caller > 0 {
					bounded, cancel := context.WithTimeout(ctx, tc.caller)
					defer cancel()
					ctx = bounded
				}
				var got time.Duration
				_, err := limit(slog.New(slog.DiscardHandler))(ctx, nil, info("/x/Y"), func(ctx context.Context, _ any) (any, error) {
					deadline, _ := ctx.Deadline()
					got = time.Until(deadline)
					return nil, nil
				})
				if got != tc.want || (tc.want == 0) != (codeOfErr(err) == codes.DeadlineExceeded) {
					t.Errorf("the handler got %s, want %s, and the caller %v", got, tc.want, err)
				}
			})
		})
	}
}

func TestPoliciesAreComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if err := w.server.Check(); err != nil {
		t.Errorf("Check = %v", err)
	}
	incomplete := policies()
	delete(incomplete, slbv1.LoadBalancerService_CreateLoadBalancer_FullMethodName)
	incomplete[slbv1.LoadBalancerService_ListLoadBalancers_FullMethodName] = Policy{Resource: "loadbalancers"}
	incomplete["/cloudgateway.slb.v1.LoadBalancerService/Renamed"] = Policy{}
	server, err := New(Config{
		TLS: w.server.cfg.TLS, Policies: incomplete, Authenticator: authority{}, Authorizer: authority{}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	slbv1.RegisterLoadBalancerServiceServer(server, w.handler)
	commonv1.RegisterCapabilitiesServiceServer(server, unregistered{})
	err = server.Check()
	if err == nil {
		t.Fatal("Check finds nothing")
	}
	for _, want := range []string{
		"/cloudgateway.slb.v1.LoadBalancerService/CreateLoadBalancer: has no policy",
		"/cloudgateway.slb.v1.LoadBalancerService/ListLoadBalancers: its policy needs Resource, Verb and Timeout",
		"/cloudgateway.slb.v1.LoadBalancerService/Renamed: has a policy and no handler",
		"/cloudgateway.common.v1.CapabilitiesService/GetCapabilities: has no policy",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Check lacks %q:\n%v", want, err)
		}
	}
}

func TestCertificatesAreReloaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if err := w.get(w.dial(tokenEditor)); err != nil {
		t.Fatalf("first certificate: %v", err)
	}
	w.issue("server") // Both sides read the files again.
	if err := w.get(w.dial(tokenEditor)); err != nil {
		t.Errorf("renewed certificate: %v", err)
	}
	if err := os.Remove(w.path("server.key")); err != nil {
		t.Fatal(err)
	}
	if err := w.get(w.dial(tokenEditor)); err != nil {
		t.Errorf("unreadable key: %v", err)
	}
	if !strings.Contains(w.log.String(), "the former ones serve") {
		t.Errorf("the log says nothing of the unreadable key:\n%s", w.log)
	}
}

// TestClientCertificates: a caller outside of Kubernetes is the one that its certificate names.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.TLS.ClientCAFile = filepath.Join(filepath.Dir(c.TLS.CertFile), "clients.crt")
		tlstest.Issue(t, filepath.Dir(c.TLS.CertFile), "viewer", "auditors")
		tlstest.Issue(t, filepath.Dir(c.TLS.CertFile), "editor")
		tlstest.Issue(t, filepath.Dir(c.TLS.CertFile), "stranger")
		tlstest.Issue(t, filepath.Dir(c.TLS.CertFile), "system:serviceaccount:kube-system:lbcontroller")
		tlstest.Issue(t, filepath.Dir(c.TLS.CertFile), "administrator", "auditors", "system:masters")
		var known []byte
		for _, name := range []string{"viewer.crt", "editor.crt", "system:serviceaccount:kube-system:lbcontroller.crt", "administrator.crt"} {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(c.TLS.CertFile), name))
			if err != nil {
				t.Fatal(err)
			}
			known = append(known, text...)
		}
		if err := os.WriteFile(c.TLS.ClientCAFile, known, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	var groups []string
	w.handler.get = func(ctx context.Context) error {
		caller, _ := CallerFrom(ctx)
		groups = caller.Groups
		return nil
	}
	if err := w.get(w.dialWith("viewer", "")); err != nil {
		t.Errorf("the viewer reads: %v", err)
	}
	if diff := cmp.Diff([]string{"system:authenticated", "auditors"}, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if err := w.remove(w.dialWith("viewer", "")); rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
		t.Errorf("the viewer removes: %v", err)
	}
	if err := w.remove(w.dialWith("editor", "")); err != nil {
		t.Errorf("the editor removes: %v", err)
	}
	if err := w.remove(w.dialWith("editor", tokenViewer)); rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
		t.Errorf("the viewer's token over the editor's connection: %v", err)
	}
	if err := w.get(w.dialWith("stranger", "")); codeOfErr(err) != codes.Unauthenticated {
		t.Errorf("the stranger reads: %v", err)
	}
	for name, says := range map[string]string{
		"system:serviceaccount:kube-system:lbcontroller": `"system:serviceaccount:kube-system:lbcontroller"`, "administrator": `"system:masters"`,
	} {
		err := w.get(w.dialWith(name, ""))
		if rpcerr.ReasonOf(err) != rpcerr.CallerUnauthenticated || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want CALLER_UNAUTHENTICATED that names %s", name, err, says)
		}
	}
}

func TestNamesInCertificates(t *testing.T) {
	t.Parallel()
	spiffe := &url.URL{Scheme: "spiffe", Host: "example.com", Path: "/tool"}
	for _, tt := range []struct {
		leaf x509.Certificate
		want string
	}{
		{x509.Certificate{}, ""},
		{x509.Certificate{EmailAddresses: []string{"a@example.com"}}, "a@example.com"},
		{x509.Certificate{DNSNames: []string{"tool.example.com"}, EmailAddresses: []string{"a@example.com"}}, "tool.example.com"},
		{x509.Certificate{URIs: []*url.URL{spiffe}, DNSNames: []string{"tool.example.com"}}, "spiffe://example.com/tool"},
	} {
		if got := alternative(&tt.leaf); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestUnreadableCertificates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	strict := w.server.cfg
	strict.TLS.ClientCAFile, strict.Registerer = w.path("server.crt"), nil
	w.write("empty.crt", []byte("nothing"))
	for field, change := range map[string]func(*TLSConfig){
		"tls.certFile and tls.keyFile": func(c *TLSConfig) { c.CertFile = w.path("none") },
		"tls.clientCAFile: ":           func(c *TLSConfig) { c.ClientCAFile = w.path("none") },
		"holds no PEM certificate":     func(c *TLSConfig) { c.ClientCAFile = w.path("empty.crt") },
	} {
		broken := strict
		change(&broken.TLS)
		if _, err := New(broken); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("New = %v, want %q", err, field)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	request := &slbv1.CreateListenerRequest{
		Key:    &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
		Config: &slbv1.ListenerConfig{ServerGroupId: new("rsp-1"), Cookie: new("c")},
	}
	got := map[string]string{}
	for _, attr := range identifiers(request.ProtoReflect()) {
		got[attr.Key] = attr.Value.String()
	}
	if diff := cmp.Diff(map[string]string{"load_balancer_id": "lb-1", "port": "80"}, got); diff != "" {
		t.Errorf("identifiers (-want +got):\n%s", diff)
	}
}
