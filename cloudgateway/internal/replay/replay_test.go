package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

const (
	creation = slbv1.ServerGroupService_CreateServerGroup_FullMethodName
	deletion = slbv1.ServerGroupService_DeleteServerGroup_FullMethodName
	reading  = slbv1.ServerGroupService_GetServerGroup_FullMethodName
)

// stage is a Memory in front of a handler that makes groups.
type stage struct {
	memory *Memory
	made   atomic.Int32
	takes  time.Duration   // that the handler needs
	fails  map[int32]error // what it returns instead of the n-th group
}

func newStage() *stage {
	return &stage{memory: New(rpc.Policies{creation: {Mutating: true}, deletion: {Mutating: true}, reading: {}}, prometheus.NewRegistry())}
}

// handle makes the next group.
func (s *stage) handle(ctx context.Context, _ any) (any, error) {
	n := s.made.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := s.fails[n]; err != nil {
		return nil, err
	}
	return &slbv1.CreateServerGroupResponse{ServerGroupId: fmt.Sprintf("rsp-%d", n)}, nil
}

// call is a call by someone, and gives the id of the group that is the answer.
func (s *stage) call(ctx context.Context, caller, method string, request proto.Message) (string, error) {
	ctx = rpc.WithCaller(ctx, rpc.Caller{Name: caller})
	answer, err := s.memory.Intercept(ctx, request, &grpc.UnaryServerInfo{FullMethod: method}, s.handle)
	group, _ := answer.(*slbv1.CreateServerGroupResponse)
	return group.GetServerGroupId(), err
}

func (s *stage) create(ctx context.Context, requestID, name string) (string, error) {
	return s.call(ctx, "tool", creation, &slbv1.CreateServerGroupRequest{RequestId: requestID, Name: name})
}

func (s *stage) replayed() float64 {
	return testutil.ToFloat64(s.memory.replayed.WithLabelValues(creation))
}

func TestWhatIsARepetition(t *testing.T) {
	first := &slbv1.CreateServerGroupRequest{RequestId: "r", Name: "web"}
	unknown := proto.CloneOf(first)
	unknown.ProtoReflect().SetUnknown([]byte{0xf8, 0x07, 1}) // a field that a newer caller has set
	for _, tc := range []struct {
		name           string
		caller, method string
		request        proto.Message
		want           string
		refused        bool
	}{
		{name: "the same", caller: "tool", method: creation, request: proto.CloneOf(first), want: "rsp-1"},
		{name: "other content", caller: "tool", method: creation,
			request: &slbv1.CreateServerGroupRequest{RequestId: "r", Name: "other"}, refused: true},
		{name: "content of a newer caller", caller: "tool", method: creation, request: unknown, refused: true},
		{name: "another id", caller: "tool", method: creation,
			request: &slbv1.CreateServerGroupRequest{RequestId: "q", Name: "web"}, want: "rsp-2"},
		{name: "another caller", caller: "other", method: creation, request: first, want: "rsp-2"},
		{name: "another method", caller: "tool", method: deletion, request: first, want: "rsp-2"},
		{name: "no id", caller: "tool", method: creation, request: &slbv1.CreateServerGroupRequest{Name: "web"}, want: "rsp-2"},
		{name: "a read", caller: "tool", method: reading, request: first, want: "rsp-2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage()
			if _, err := s.call(t.Context(), "tool", creation, first); err != nil {
				t.Fatal(err)
			}
			got, err := s.call(t.Context(), tc.caller, tc.method, tc.request)
			if got != tc.want || (err != nil) != tc.refused {
				t.Errorf("got %s, %v, want %s", got, err, tc.want)
			}
			if tc.refused {
				e, _ := rpcerr.From(err)
				if e.Reason != rpcerr.IdempotencyMismatch || len(e.Fields) != 1 || e.Fields[0].Field != "request_id" ||
					!strings.Contains(e.Message, "take a new one") {
					t.Errorf("refused with %v, %v", err, e.Fields)
				}
			}
			if want := map[bool]float64{true: 1}[tc.want == "rsp-1"]; s.replayed() != want {
				t.Errorf("%v requests replayed, want %v", s.replayed(), want)
			}
		})
	}
}

// TestWithoutID: what has no id is never the same.
func TestWithoutID(t *testing.T) {
	s := newStage()
	for _, want := range []string{"rsp-1", "rsp-2"} {
		if got, err := s.create(t.Context(), "", "web"); got != want || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestResultsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		for _, step := range []struct {
			pause time.Duration
			want  string
		}{{0, "rsp-1"}, {life, "rsp-1"}, {time.Nanosecond, "rsp-2"}, {time.Minute, "rsp-2"}} {
			<-time.After(step.pause)
			if got, err := s.create(t.Context(), "r", "web"); got != step.want || err != nil {
				t.Errorf("after %s: got %s, %v, want %s", step.pause, got, err, step.want)
			}
		}
	})
}

// TestAnswersAreCopies: a caller that changes its answer does not change that of the next.
func TestAnswersAreCopies(t *testing.T) {
	s := newStage()
	request := &slbv1.CreateServerGroupRequest{RequestId: "r"}
	for range 3 {
		answer, err := s.memory.Intercept(t.Context(), request, &grpc.UnaryServerInfo{FullMethod: creation}, s.handle)
		if err != nil {
			t.Fatal(err)
		}
		group := answer.(*slbv1.CreateServerGroupResponse)
		if group.GetServerGroupId() != "rsp-1" {
			t.Fatalf("got %s", group.GetServerGroupId())
		}
		group.ServerGroupId = "changed"
	}
}

func TestFailuresAreNotRemembered(t *testing.T) {
	s := newStage()
	s.fails = map[int32]error{1: errors.New("first"), 2: errors.New("second")}
	for n := range int32(2) {
		if _, err := s.create(t.Context(), "r", "web"); !errors.Is(err, s.fails[n+1]) {
			t.Errorf("got %v, want %v", err, s.fails[n+1])
		}
	}
	// Nor is their content.
	if got, err := s.create(t.Context(), "r", "other"); got != "rsp-3" || err != nil {
		t.Errorf("got %s, %v, want the third", got, err)
	}
}

func TestPanicsAreFailures(t *testing.T) {
	s := newStage()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		//nolint:errcheck // It panics.
		s.memory.Intercept(t.Context(), &slbv1.CreateServerGroupRequest{RequestId: "r"}, &grpc.UnaryServerInfo{FullMethod: creation},
			func(context.Context, any) (any, error) { panic("boom") })
	}()
	if got, err := s.call(t.Context(), "", creation, &slbv1.CreateServerGroupRequest{RequestId: "r"}); got != "rsp-1" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestWhileTheFirstIsUnderWay: repetitions come a second after the first request, which takes a minute.
func TestWhileTheFirstIsUnderWay(t *testing.T) {
	const takes, patient = time.Minute, time.Hour
	type outcome struct {
		group  string
		reason rpcerr.Reason
		after  time.Duration // since the first request
	}
	for _, tc := range []struct {
		name          string
		first, second time.Duration // how long the callers wait
		content       string        // of the second; that of the first is "web"
		fails         map[int32]error
		want          outcome // of the second
		made          int32
		replayed      float64
	}{
		{name: "shares the result", first: patient, second: patient, content: "web",
			want: outcome{group: "rsp-1", after: takes}, made: 1, replayed: 1},
		{name: "runs out of time", first: patient, second: 10 * time.Second, content: "web",
			want: outcome{reason: rpcerr.ResourceBusy, after: 11 * time.Second}, made: 1},
		{name: "other content", first: patient, second: patient, content: "other",
			want: outcome{reason: rpcerr.IdempotencyMismatch, after: time.Second}, made: 1},
		{name: "the first fails", first: patient, second: patient, content: "web", fails: map[int32]error{1: errors.New("no")},
			want: outcome{group: "rsp-2", after: 2 * takes}, made: 2},
		{name: "the first goes away", first: 30 * time.Second, second: patient, content: "web",
			want: outcome{group: "rsp-2", after: 30*time.Second + takes}, made: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				s.takes, s.fails = takes, tc.fails
				start := time.Now()
				call := func(patience time.Duration, content string) <-chan outcome {
					ended := make(chan outcome, 1)
					go func() {
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						defer cancel()
						group, err := s.create(ctx, "r", content)
						ended <- outcome{group: group, reason: rpcerr.ReasonOf(err), after: time.Since(start)}
					}()
					return ended
				}
				first := call(tc.first, "web")
				<-time.After(time.Second)
				got := <-call(tc.second, tc.content)
				<-first
				if got != tc.want {
					t.Errorf("got %+v, want %+v", got, tc.want)
				}
				if s.made.Load() != tc.made || s.replayed() != tc.replayed {
					t.Errorf("%d made, %v replayed, want %d and %v", s.made.Load(), s.replayed(), tc.made, tc.replayed)
				}
			})
		})
	}
}

// TestCancelledWaiter: a caller that goes away while it waits leaves the first request alone.
// TestUnsentAfterAnother: that nothing was sent does not hold of a request that has waited for an attempt which may have sent something.
func TestUnsentAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unsent := &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "no room", Unsent: true}
		s := newStage()
		s.takes, s.fails = time.Second, map[int32]error{1: errors.New("lost"), 2: unsent, 3: unsent}
		go func() { _, _ = s.create(t.Context(), "r", "web") }()
		synctest.Wait()
		for n, want := range []bool{false, true} {
			if _, err := s.create(t.Context(), "r", "web"); rpcerr.IsUnsent(err) != want || rpcerr.ReasonOf(err) != rpcerr.Throttled {
				t.Errorf("repetition %d: %v, nothing was sent: %t", n, err, !want)
			}
		}
	})
}

func TestCancelledWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.takes = time.Minute
		first := make(chan string, 1)
		go func() {
			group, err := s.create(t.Context(), "r", "web")
			if err != nil {
				t.Error(err)
			}
			first <- group
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := s.create(ctx, "r", "web"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that the caller went away", err)
		}
		if group := <-first; group != "rsp-1" || s.made.Load() != 1 {
			t.Errorf("got %s of %d", group, s.made.Load())
		}
	})
}
