package absence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/absence"
)

// account is what a cloud answers: the instances and network interfaces that it lists.
type account struct {
	instances, interfaces []string // both by the id of the instance
	broken                map[string]error
	listsFail, readsFail  error
	short, empty          bool
	lists                 atomic.Int32
}

func (a *account) cloud(region string) absence.Cloud {
	return absence.Cloud{Region: region, Instances: a.read, Interfaces: a.list}
}

func (a *account) read(_ context.Context, r *ecsv1.BatchGetInstancesRequest) (*ecsv1.BatchGetInstancesResponse, error) {
	if a.readsFail != nil {
		return nil, a.readsFail
	}
	response := &ecsv1.BatchGetInstancesResponse{}
	for _, id := range r.GetInstanceIds() {
		result := &ecsv1.InstanceResult{}
		switch {
		case a.broken[id] != nil:
			result.Error = rpcerr.ToItem(a.broken[id])
		case slices.Contains(a.instances, id):
			result.Instance = &ecsv1.Instance{InstanceId: id}
		case !a.empty:
			result.Error = rpcerr.ToItem(rpcerr.Errorf(rpcerr.InstanceNotFound, "no %s", id))
		}
		response.Results = append(response.Results, result)
	}
	if a.short {
		response.Results = response.GetResults()[1:]
	}
	return response, nil
}

func (a *account) list(_ context.Context, r *ecsv1.ListNetworkInterfacesRequest) (*ecsv1.ListNetworkInterfacesResponse, error) {
	a.lists.Add(1)
	if a.listsFail != nil {
		return nil, a.listsFail
	}
	response := &ecsv1.ListNetworkInterfacesResponse{}
	if slices.Contains(a.interfaces, r.GetInstanceId()) {
		response.NetworkInterfaces = []*ecsv1.NetworkInterface{{NetworkInterfaceId: "eni-" + r.GetInstanceId()}}
	}
	return response, nil
}

// named are instances w-0 to w-(n-1).
func named(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("w-%d", i)
	}
	return ids
}

// verdicts says of each result what it is: "present", "absent" or the reason why it is unclear.
func verdicts(t *testing.T, r *ecsv1.ConfirmAbsentResponse) string {
	t.Helper()
	var words []string
	for _, result := range r.GetResults() {
		if (result.GetError() != nil) != (result.GetPresence() == ecsv1.Presence_PRESENCE_UNCLEAR) ||
			(result.GetInstance() != nil) != (result.GetPresence() == ecsv1.Presence_PRESENCE_PRESENT) {
			t.Errorf("result %v does not fit together", result)
		}
		word := strings.ToLower(strings.TrimPrefix(result.GetPresence().String(), "PRESENCE_"))
		if result.GetError() != nil {
			word = result.GetError().GetReason()
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	throttled := rpcerr.Errorf(rpcerr.Throttled, "slow down")
	for name, tt := range map[string]struct {
		account   *account
		region    string
		ids       []string
		witnesses []string
		want      string
		// lists is how many lists of network interfaces are asked for.
		lists int
	}{
		"all are there": {account: &account{instances: []string{"a", "b"}}, ids: []string{"a", "b"}, want: "present present"},
		"a witness that is named again and again is one": {
			account: &account{instances: named(1), interfaces: named(1)},
			ids:     []string{"gone"}, witnesses: append(slices.Repeat(named(1), 96), named(6)[1:]...), want: "PARTIAL_ANSWER",
		},
		"one that lacks, likewise": {
			account: &account{instances: named(3), interfaces: named(3)},
			ids:     []string{"gone"}, witnesses: append(slices.Repeat([]string{"released"}, 96), named(3)...), want: "absent", lists: 2,
		},
		"one is gone": {
			account: &account{instances: append(named(3), "a"), interfaces: append(named(3), "a")},
			ids:     []string{"a", "gone"}, witnesses: named(3), want: "present absent", lists: 2,
		},
		"each that is gone costs a list": {
			account: &account{instances: named(3), interfaces: named(3)}, ids: []string{"x", "y", "z"}, witnesses: named(3),
			want: "absent absent absent", lists: 4,
		},
		"the witnesses are those that were asked about": {
			account: &account{instances: []string{"a"}, interfaces: []string{"a"}}, ids: []string{"gone", "a"}, want: "absent present", lists: 2,
		},
		"nothing is there and there are no witnesses": {ids: []string{"x", "y"}, want: "NOTHING_FOUND NOTHING_FOUND"},
		"no witness is there": {account: &account{interfaces: named(3)}, ids: []string{"x"},
			witnesses: named(3), want: "NOTHING_FOUND"},
		"that an asked one is there helps no witness": {account: &account{instances: []string{"a"}}, ids: []string{"a", "x"},
			witnesses: named(3), want: "present NOTHING_FOUND"},
		"three of twenty witnesses may be gone": {
			account: &account{instances: named(20)[3:], interfaces: named(20)}, ids: []string{"x"}, witnesses: named(20), want: "absent", lists: 2,
		},
		"four of twenty may not": {account: &account{instances: named(20)[4:], interfaces: named(20)}, ids: []string{"x"},
			witnesses: named(20), want: "PARTIAL_ANSWER"},
		"five of a hundred may": {
			account: &account{instances: named(100)[5:], interfaces: named(100)}, ids: []string{"x"}, witnesses: named(100),
			want: "absent", lists: 2,
		},
		"one of two may": {account: &account{instances: named(1), interfaces: named(1)}, ids: []string{"x"},
			witnesses: named(2), want: "absent", lists: 2},
		"two of three may not": {
			account: &account{instances: named(1), interfaces: named(1)}, ids: []string{"x"}, witnesses: named(3), want: "PARTIAL_ANSWER",
		},
		"a witness that can't be read is none": {
			account: &account{instances: named(3), interfaces: named(3), broken: map[string]error{"w-0": throttled, "w-1": throttled}},
			ids:     []string{"x"}, witnesses: named(3), want: "PARTIAL_ANSWER",
		},
		"another region": {region: "cn-beijing", ids: []string{"x", "y"}, witnesses: named(1), want: "REGION_MISMATCH REGION_MISMATCH"},
		"the interface of one that is missing exists": {
			account: &account{instances: named(3), interfaces: append(named(3), "x")},
			ids:     []string{"x", "y"}, witnesses: named(3), want: "ABSENCE_CONTRADICTED absent", lists: 3,
		},
		"no interface is listed at all": {account: &account{instances: named(5)}, ids: []string{"x"}, witnesses: named(5),
			want: "ABSENCE_CONTRADICTED", lists: 3},
		"the interface of the third witness is listed": {
			account: &account{instances: named(5), interfaces: []string{"w-2"}}, ids: []string{"x"}, witnesses: named(5), want: "absent", lists: 4,
		},
		"a witness that is gone has no interface to show": {
			account: &account{instances: named(5)[1:], interfaces: named(5)[3:]}, ids: []string{"x"}, witnesses: named(5), want: "absent", lists: 4,
		},
		"interfaces can't be listed": {
			account: &account{instances: named(3), listsFail: rpcerr.Errorf(rpcerr.CloudForbidden, "no")}, ids: []string{"x"}, witnesses: named(3),
			want: "CLOUD_FORBIDDEN", lists: 1,
		},
		"one instance can't be read": {
			account: &account{instances: named(3), interfaces: named(3), broken: map[string]error{"x": throttled}},
			ids:     []string{"x", "y"}, witnesses: named(3), want: "THROTTLED absent", lists: 2,
		},
		"not found, but something else": {
			account: &account{instances: named(3), interfaces: named(3), broken: map[string]error{"x": rpcerr.Errorf(rpcerr.VpcNotFound, "no")}},
			ids:     []string{"x"}, witnesses: named(3), want: "VPC_NOT_FOUND",
		},
		"no answer":            {account: &account{readsFail: throttled}, ids: []string{"x", "y"}, want: "THROTTLED THROTTLED"},
		"an answer too short":  {account: &account{short: true}, ids: []string{"x", "y"}, want: "INTERNAL INTERNAL"},
		"an answer of nothing": {account: &account{empty: true}, ids: []string{"x"}, want: "INTERNAL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := tt.account
			if a == nil {
				a = &account{}
			}
			response := a.cloud("cn-hangzhou").Confirm(t.Context(),
				&ecsv1.ConfirmAbsentRequest{InstanceIds: tt.ids, WitnessIds: tt.witnesses, RegionId: tt.region})
			if got := verdicts(t, response); got != tt.want {
				t.Errorf("got %s, want %s: %v", got, tt.want, response)
			}
			if got := int(a.lists.Load()); got != tt.lists {
				t.Errorf("%d lists of network interfaces, want %d", got, tt.lists)
			}
		})
	}
}

// TestAnErrorThatIsNoneOfTheCloud: an error of any kind is unclear, and its text is kept.
func TestAnErrorThatIsNoneOfTheCloud(t *testing.T) {
	t.Parallel()
	a := &account{instances: named(1), listsFail: errors.New("broken pipe")}
	result := a.cloud("").Confirm(t.Context(), &ecsv1.ConfirmAbsentRequest{InstanceIds: []string{"x"},
		WitnessIds: named(1), RegionId: "cn-beijing"}).GetResults()[0]
	if text := result.GetError().GetMessage(); result.GetPresence() != ecsv1.Presence_PRESENCE_UNCLEAR ||
		!strings.Contains(text, "of instance w-0: broken pipe") {
		t.Errorf("got %v", result)
	}
}

// TestAsksAFewAtATime: a hundred instances that the cloud lacks are not asked about all at once.
func TestAsksAFewAtATime(t *testing.T) {
	t.Parallel()
	const most = 10
	synctest.Test(t, func(t *testing.T) {
		cloud := (&account{instances: named(4), interfaces: named(4)}).cloud("")
		list := cloud.Interfaces
		var mu sync.Mutex
		var now, peak int
		cloud.Interfaces = func(ctx context.Context, r *ecsv1.ListNetworkInterfacesRequest) (*ecsv1.ListNetworkInterfacesResponse, error) {
			count := func(by int) {
				mu.Lock()
				defer mu.Unlock()
				now += by
				peak = max(peak, now)
			}
			count(1)
			<-time.After(time.Second) // In the bubble that takes none, and all who may come have come.
			count(-1)
			return list(ctx, r)
		}
		var gone []string
		for i := range 100 {
			gone = append(gone, fmt.Sprintf("i-%d", i))
		}
		response := cloud.Confirm(t.Context(), &ecsv1.ConfirmAbsentRequest{InstanceIds: gone, WitnessIds: named(4)})
		if len(response.GetResults()) != len(gone) || response.GetResults()[99].GetPresence() != ecsv1.Presence_PRESENCE_ABSENT {
			t.Errorf("the last result is %v", response.GetResults()[99])
		}
		if peak != most {
			t.Errorf("up to %d questions at a time, want %d", peak, most)
		}
	})
}
