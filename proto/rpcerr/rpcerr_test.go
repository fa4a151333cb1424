package rpcerr_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

// anyError draws an error as a handler may return it.
func anyError() *rapid.Generator[*rpcerr.Error] {
	return rapid.Custom(func(t *rapid.T) *rpcerr.Error {
		e := &rpcerr.Error{
			Code:           codes.Code(rapid.IntRange(1, 16).Draw(t, "code")),
			Reason:         rpcerr.Reason(rapid.StringMatching(`[A-Z_]{0,12}`).Draw(t, "reason")),
			Message:        rapid.String().Draw(t, "message"),
			RetryAfter:     time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "retry")),
			API:            rapid.StringMatching(`(slb/[A-Za-z]{1,9})?`).Draw(t, "api"),
			CloudCode:      rapid.StringMatching(`[A-Za-z.]{0,9}`).Draw(t, "cloudCode"),
			CloudRequestID: rapid.StringMatching(`[A-F0-9]{0,9}`).Draw(t, "cloudRequestID"),
			Unsent:         rapid.Bool().Draw(t, "unsent"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "fields") {
			e.Fields = append(e.Fields, rpcerr.FieldViolation{Field: rapid.String().Draw(t, "field"),
				Description: rapid.String().Draw(t, "description")})
		}
		return e
	})
}

func TestStatusRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sent := anyError().Draw(t, "error")
		wire, err := proto.Marshal(status.Convert(sent).Proto())
		if err != nil {
			t.Fatal(err)
		}
		received := &spb.Status{}
		if err := proto.Unmarshal(wire, received); err != nil {
			t.Fatal(err)
		}
		got, ok := rpcerr.From(status.FromProto(received).Err())
		if diff := cmp.Diff(sent, got); !ok || diff != "" {
			t.Fatalf("From(status) (-sent +got):\n%s", diff)
		}
	})
}

func TestItemRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sent := anyError().Draw(t, "error")
		sent.API, sent.Fields, sent.Unsent = "", nil, false // An item does not carry them.
		got, ok := rpcerr.From(rpcerr.FromItem(rpcerr.ToItem(sent)))
		if diff := cmp.Diff(sent, got); !ok || diff != "" {
			t.Fatalf("FromItem(ToItem) (-sent +got):\n%s", diff)
		}
	})
}

func TestFrom(t *testing.T) {
	t.Parallel()
	throttled := &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "slow down", RetryAfter: time.Second}
	foreign, err := status.New(codes.NotFound, "no route").WithDetails(&errdetails.ErrorInfo{Reason: "ROUTE_NOT_FOUND", Domain: "proxy"})
	if err != nil {
		t.Fatal(err)
	}
	wrapped := *throttled
	wrapped.Message = "add 3 servers: slow down"
	for _, tc := range []struct {
		name string
		err  error
		want *rpcerr.Error
	}{
		{name: "nil"},
		{name: "no status", err: io.EOF},
		{name: "itself", err: throttled, want: throttled},
		{name: "wrapped", err: fmt.Errorf("add 3 servers: %w", throttled), want: &wrapped},
		{name: "wrapped status", err: fmt.Errorf("add 3 servers: %w", throttled.GRPCStatus().Err()), want: &wrapped},
		{name: "joined", err: errors.Join(io.EOF, throttled.GRPCStatus().Err()), want: &rpcerr.Error{
			Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "EOF\nslow down", RetryAfter: time.Second,
		}},
		{name: "broken connection", err: status.Error(codes.Unavailable, "connection refused"),
			want: &rpcerr.Error{Code: codes.Unavailable, Message: "connection refused"}},
		{name: "other domain", err: foreign.Err(), want: &rpcerr.Error{Code: codes.NotFound, Message: "no route"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, ok := rpcerr.From(tc.err)
			if ok != (tc.want != nil) {
				t.Fatalf("From: ok = %v", ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("From (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsNotFoundNeedsTheGatewaysWord(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{name: "gateway", err: &rpcerr.Error{Code: codes.NotFound, Reason: rpcerr.InstanceNotFound}, want: true},
		{name: "gateway, wrapped", err: fmt.Errorf("x: %w", &rpcerr.Error{Code: codes.NotFound, Reason: rpcerr.NotFoundReason}), want: true},
		{name: "item", err: rpcerr.FromItem(&commonv1.ItemError{Code: int32(codes.NotFound), Reason: "INSTANCE_NOT_FOUND"}), want: true},
		{name: "something between", err: status.Error(codes.NotFound, "404")},
		{name: "other code", err: &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable}},
		{name: "nil"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := rpcerr.IsNotFound(tc.err); got != tc.want {
				t.Errorf("IsNotFound = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestToItem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		err        error
		wantCode   codes.Code
		wantReason rpcerr.Reason
	}{
		{name: "defect", err: io.EOF, wantCode: codes.Internal, wantReason: rpcerr.Internal},
		{name: "deadline", err: fmt.Errorf("x: %w", context.DeadlineExceeded), wantCode: codes.DeadlineExceeded},
		{name: "cancelled", err: context.Canceled, wantCode: codes.Canceled},
		{name: "forgotten code", err: &rpcerr.Error{Reason: rpcerr.RouteConflict}, wantCode: codes.Unknown, wantReason: rpcerr.RouteConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			item := rpcerr.ToItem(tc.err)
			if codes.Code(item.GetCode()) != tc.wantCode || rpcerr.Reason(item.GetReason()) != tc.wantReason {
				t.Errorf("ToItem = %v, want %s %s", item, tc.wantCode, tc.wantReason)
			}
		})
	}
	if rpcerr.ToItem(nil) != nil || rpcerr.FromItem(nil) != nil {
		t.Error("nil is not kept")
	}
	unknown := rpcerr.FromItem(&commonv1.ItemError{Code: 99})
	if status.Code(unknown) != codes.Unknown {
		t.Errorf("FromItem(code 99) = %v", unknown)
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  *rpcerr.Error
		want string
	}{
		{name: "bare", err: &rpcerr.Error{Code: codes.Unavailable}, want: "(Unavailable)"},
		{name: "without reason", err: &rpcerr.Error{Code: codes.Unavailable, Message: "connection refused"},
			want: "connection refused (Unavailable)"},
		{name: "full", err: &rpcerr.Error{
			Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "slow down", API: "slb/CreateLoadBalancer",
			CloudCode: "Throttling.User", CloudRequestID: "0B-43",
		}, want: "slow down (THROTTLED, slb/CreateLoadBalancer, Throttling.User, request 0B-43)"},
		{name: "invalid", err: rpcerr.Invalid(
			rpcerr.FieldViolation{Field: "port", Description: "0 is not in 1 to 65535"},
			rpcerr.FieldViolation{Field: "name", Description: "is required"},
		), want: "port: 0 is not in 1 to 65535; name: is required (INVALID_FIELD)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.err.Error(); got != tc.want {
				t.Errorf("Error() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("x: %w", (&rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy,
		RetryAfter: 3 * time.Second}).GRPCStatus().Err())
	if got, ok := rpcerr.RetryAfter(err); !ok || got != 3*time.Second {
		t.Errorf("RetryAfter = %v, %v", got, ok)
	}
	if _, ok := rpcerr.RetryAfter(io.EOF); ok {
		t.Error("RetryAfter(EOF) is ok")
	}
	if got := rpcerr.ReasonOf(err); got != rpcerr.ResourceBusy {
		t.Errorf("ReasonOf = %q", got)
	}
	if got := rpcerr.ReasonOf(io.EOF); got != "" {
		t.Errorf("ReasonOf(EOF) = %q", got)
	}
}

func TestRemedy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		err        error
	}{
		{name: "no call", err: io.EOF},
		{name: "gateway away", err: fmt.Errorf("list: %w", status.Error(codes.Unavailable, "connection refused")),
			want: "look whether cloudgateway runs"},
		{name: "cloud away", err: &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable}},
		{name: "throttled", err: &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled}},
		{name: "quota", err: &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.QuotaExceeded},
			want: "ask the cloud for a higher quota, or release what nobody needs"},
		{name: "credentials", err: (&rpcerr.Error{Code: codes.FailedPrecondition, Reason: rpcerr.CloudCredentials}).GRPCStatus().Err(),
			want: "look what the gateway may do and with which credentials, by cloudgateway doctor"},
		{name: "RBAC", err: &rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CallerForbidden},
			want: "check the ClusterRole of the controller"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := rpcerr.Remedy(tc.err); got != tc.want {
				t.Errorf("Remedy = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestErrorf: who makes an error names the reason, and the code follows.
func TestErrorf(t *testing.T) {
	for reason, code := range map[rpcerr.Reason]codes.Code{
		rpcerr.Throttled: codes.ResourceExhausted, rpcerr.ResourceBusy: codes.Aborted, rpcerr.CloudUnavailable: codes.Unavailable,
		rpcerr.OutcomeUnknown: codes.Unknown, rpcerr.InvalidField: codes.InvalidArgument, rpcerr.CallerUnauthenticated: codes.Unauthenticated,
		rpcerr.CallerForbidden: codes.PermissionDenied, rpcerr.Internal: codes.Internal, rpcerr.RouteConflict: codes.AlreadyExists,
		rpcerr.NotFoundReason: codes.NotFound, rpcerr.EipNotFound: codes.NotFound, rpcerr.ResourceInUse: codes.FailedPrecondition,
	} {
		want := &rpcerr.Error{Code: code, Reason: reason, Message: "no 7", RetryAfter: time.Second, API: "slb/A"}
		if diff := cmp.Diff(want, rpcerr.Errorf(reason, "no %d", 7).WithRetry(time.Second).WithAPI("slb/A")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}

// TestInvalidf: a wrong argument is a violation by itself, and in the message.
func TestInvalidf(t *testing.T) {
	want := rpcerr.Invalid(rpcerr.FieldViolation{Field: "vpc_id", Description: "is of vpc-2"})
	if diff := cmp.Diff(want, rpcerr.Invalidf("vpc_id", "is of %s", "vpc-2")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
