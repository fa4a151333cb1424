package top

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// gateway answers with one status after the other; nil is a failure. The last one stays.
type gateway []*commonv1.GetStatusResponse

func (g *gateway) GetStatus(context.Context, *commonv1.GetStatusRequest, ...grpc.CallOption) (*commonv1.GetStatusResponse, error) {
	answer := (*g)[0]
	if len(*g) > 1 {
		*g = (*g)[1:]
	}
	if answer == nil {
		return nil, errors.New("connection refused")
	}
	return answer, nil
}

var begin = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

// busy is an account that a backup job uses up.
func busy() *commonv1.GetStatusResponse {
	const lb, backup = "system:serviceaccount:kube-system:lbcontroller", "system:serviceaccount:tools:backup"
	now := begin.Add(2*time.Hour + 3*time.Minute)
	return &commonv1.GetStatusResponse{
		AsOf: timestamppb.New(now), Version: "v1.4.0", RegionId: "cn-hangzhou", Active: true,
		Leader: "cloudgateway-7d9-x_4711", LeaderSince: timestamppb.New(begin),
		Actions: []*commonv1.ActionStatus{
			{Product: "ecs", Action: "DescribeInstances", Window: durationpb.New(time.Minute), Limit: 500, Share: 350, Allowance: 500},
			{
				Product: "slb", Action: "CreateLoadBalancer", Window: durationpb.New(time.Minute), Limit: 60, Share: 42, Allowance: 60, Sent: 3,
				SentByCaller: []*commonv1.CallerCalls{{Caller: lb, Calls: 3}},
			},
			{
				Product: "slb", Action: "DescribeLoadBalancers", Window: durationpb.New(10 * time.Second), Limit: 200, Share: 140,
				Allowance: 120, Learned: true, Sent: 60,
				SentByCaller: []*commonv1.CallerCalls{{Caller: backup, Calls: 50}, {Caller: lb, Calls: 10}}, Throttled: 2,
				PausedUntil: timestamppb.New(now.Add(4 * time.Second)),
				Waiting: []*commonv1.WaitingCalls{
					{Caller: lb, Priority: commonv1.Priority_PRIORITY_USER, Calls: 1, Longest: durationpb.New(2 * time.Second)},
					{Caller: backup, Priority: commonv1.Priority_PRIORITY_BACKGROUND, Calls: 300, Longest: durationpb.New(90 * time.Second)},
				},
			},
		},
		Callers: []*commonv1.CallerStatus{{Caller: lb, Priority: commonv1.Priority_PRIORITY_USER, Sent: 13, Refused: 1},
			{Caller: backup, Priority: commonv1.Priority_PRIORITY_BACKGROUND, Sent: 50, GaveUp: 7}},
	}
}

// picture is what people see, but for the width of the columns.
const picture = `cloudgateway v1.4.0  cn-hangzhou  2026-11-22T12:03:00Z
active since 2026-11-22T10:00:00Z (2h3m): cloudgateway-7d9-x

ACTION  USED  SENT  BY  WAITING  REMARKS
slb DescribeLoadBalancers  50%  #####.....  60 of 120 in 10s  tools/backup 50, kube-system/lbcontroller 10  ` +
	`kube-system/lbcontroller user 1 for 2s, tools/backup background 300 for 1m30s  ` +
	`others use the limit of 200 too; stopped for 4s; 2 refused by the cloud
slb CreateLoadBalancer  5%  ..........  3 of 60 in 1m  kube-system/lbcontroller 3  -  -
1 more actions are idle

CALLER                    PRIORITY    SENT  REFUSED  GAVE UP
kube-system/lbcontroller  user        13    1        0
tools/backup              background  50    0        7
`

// words are the lines of a text, with one blank between the words of each.
func words(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// TestTable: who uses up the account stands in the first line of the table.
func TestTable(t *testing.T) {
	if diff := cmp.Diff(words(picture), words(string(table(busy(), false)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	standby := &commonv1.GetStatusResponse{AsOf: timestamppb.New(begin), Version: "v1.4.0", RegionId: "cn-hangzhou",
		Leader: "cloudgateway-7d9-x_4711"}
	if got := string(table(standby, false)); !strings.HasSuffix(got,
		"\nstandby; run this command in the active replica, cloudgateway-7d9-x\n") {
		t.Errorf("a standby shows:\n%s", got)
	}
	standby.Leader = ""
	if got := string(table(standby, false)); !strings.HasSuffix(got, "\nstandby; no replica is active at present\n") {
		t.Errorf("without a leader:\n%s", got)
	}
}

// TestOnce: scripts get everything, idle actions too, and an error if there is no answer.
func TestOnce(t *testing.T) {
	var text, object bytes.Buffer
	if err := Run(t.Context(), Config{Status: &gateway{busy()}, Out: &text}); err != nil ||
		!strings.Contains(text.String(), "ecs DescribeInstances") {
		t.Errorf("error %v, text:\n%s", err, text.String())
	}
	if strings.ContainsRune(text.String(), '\x1b') {
		t.Errorf("the text has control characters: %q", text.String())
	}
	if err := Run(t.Context(), Config{Status: &gateway{busy()}, Out: &object, JSON: true}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Active  bool
		Actions []struct {
			Action  string
			Sent    int
			Waiting []struct{ Priority string }
		}
	}
	if err := json.Unmarshal(object.Bytes(), &got); err != nil || !got.Active || len(got.Actions) != 3 || got.Actions[2].Sent != 60 ||
		got.Actions[2].Waiting[0].Priority != "PRIORITY_USER" {
		t.Errorf("error %v, JSON:\n%s", err, object.String())
	}
	if err := Run(t.Context(), Config{Status: &gateway{nil}, Out: &text}); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("without an answer: %v", err)
	}
}

// TestRefresh: each picture takes the place of the one before, a failure is shown and overcome, and the end is no failure.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var out bytes.Buffer
		if err := Run(ctx, Config{Status: &gateway{busy(), nil, busy()}, Out: &out, Interval: 2 * time.Second}); err != nil {
			t.Fatal(err)
		}
		pictures := strings.Split(out.String(), home)[1:]
		if len(pictures) != 3 {
			t.Fatalf("%d pictures in five seconds: %q", len(pictures), out.String())
		}
		if want := "ask the gateway for its status: connection refused" + eraseLine + "\n" + eraseRest; pictures[1] != want {
			t.Errorf("the failure is %q", pictures[1])
		}
		for _, i := range []int{0, 2} {
			if plain := strings.TrimSuffix(strings.ReplaceAll(pictures[i], eraseLine, ""), eraseRest); plain != string(table(busy(), false)) {
				t.Errorf("picture %d is %q", i, plain)
			}
		}
	})
}
