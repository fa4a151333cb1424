package plan_test

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// TestServersAtTheEnds: what two lists of servers begin and end with alike doesn't hide what differs, wherever that is.
func TestServersAtTheEnds(t *testing.T) {
	t.Parallel()
	mine := us().Group("1")
	server := func(n int, weight int32) model.Server { return ecs(n, 80, weight, mine) }
	byHand := ecs(1, 80, 100, "by hand")
	for name, test := range map[string]struct {
		want, have []model.Server
		change     *ChangeServers
	}{
		"the same":    {want: []model.Server{server(1, 100), server(2, 100)}, have: []model.Server{server(1, 100), server(2, 100)}},
		"none wanted": {have: []model.Server{server(1, 100)}, change: &ChangeServers{Remove: []model.Server{server(1, 100)}}},
		"none there":  {want: []model.Server{server(1, 100)}, change: &ChangeServers{Add: []model.Server{server(1, 100)}}},
		"a new first one": {want: []model.Server{server(1, 100), server(2, 100), server(3, 100)},
			have: []model.Server{server(2, 100), server(3, 100)}, change: &ChangeServers{Add: []model.Server{server(1, 100)}}},
		"a new middle one": {want: []model.Server{server(1, 100), server(2, 100), server(3, 100)},
			have: []model.Server{server(1, 100), server(3, 100)}, change: &ChangeServers{Add: []model.Server{server(2, 100)}}},
		"a new last one": {want: []model.Server{server(1, 100), server(2, 100), server(3, 100)},
			have: []model.Server{server(1, 100), server(2, 100)}, change: &ChangeServers{Add: []model.Server{server(3, 100)}}},
		"the first one goes": {want: []model.Server{server(2, 100), server(3, 100)}, have: []model.Server{server(1, 100),
			server(2, 100), server(3, 100)}, change: &ChangeServers{Remove: []model.Server{server(1, 100)}}},
		"the last one goes": {want: []model.Server{server(1, 100), server(2, 100)}, have: []model.Server{server(1, 100),
			server(2, 100), server(3, 100)}, change: &ChangeServers{Remove: []model.Server{server(3, 100)}}},
		"another weight": {want: []model.Server{server(1, 100), server(2, 50), server(3, 100)},
			have: []model.Server{server(1, 100), server(2, 100), server(3, 100)}, change: &ChangeServers{Update: []model.Server{server(2, 50)}}},
		"of a server that is there twice, the wanted one at the beginning stays": {
			want: []model.Server{server(1, 100), server(2, 100), server(3, 100)}, have: []model.Server{server(1, 100), byHand,
				server(2, 100), server(3, 100)},
		},
		"of a server that is there twice, ours at the beginning stays": {
			want: []model.Server{server(1, 100), server(2, 100), server(3, 100)}, have: []model.Server{server(1, 100),
				server(1, 100), server(2, 100), server(3, 100)},
		},
		"of a server that is there twice, ours at the end stays": {
			want: []model.Server{server(1, 100), server(2, 100)}, have: []model.Server{server(1, 100), server(2, 100), server(2, 100)},
		},
		"of a server that is there twice, only one as wanted, none at the end goes": {
			want: []model.Server{server(1, 100), server(2, 100)}, have: []model.Server{server(1, 50), server(2, 50), server(2, 100)},
			change: &ChangeServers{Update: []model.Server{server(1, 100)}},
		},
	} {
		if test.change != nil {
			test.change.GroupID, test.change.Name = "rsp-1", mine
		}
		got := plan.DiffGroup(us(), model.Group{Name: mine, Servers: test.want}, model.Group{ID: "rsp-1", Name: mine, Servers: test.have})
		if diff := gocmp.Diff(test.change, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestServersWithoutSpareRoom: the servers of each Service are remembered, so that room to grow in each list is memory lost.
func TestServersWithoutSpareRoom(t *testing.T) {
	t.Parallel()
	o := model.Observed{Groups: []model.Group{{ID: "rsp-1"}}}
	for n := range 1000 {
		o.Groups[0].Servers = append(o.Groups[0].Servers, ecs(n, 80, 100, ""))
	}
	o.Groups[0].Servers = slices.Clip(o.Groups[0].Servers)
	before := o.Clone()
	now := o
	now.Groups = slices.Clone(o.Groups)
	ChangeServers{GroupID: "rsp-1", Add: []model.Server{ecs(1000, 80, 100, "")}}.Effect(&now, Result{})
	if servers := now.Groups[0].Servers; len(servers) != 1001 || cap(servers) != 1001 {
		t.Errorf("%d servers in a list of %d", len(servers), cap(servers))
	}
	if diff := gocmp.Diff(before, o); diff != "" {
		t.Errorf("what was there before changed:\n%s", diff)
	}
}

// TestExactServers: where a change is said to bring a group to exactly what is wanted, working it out finds the same.
// That holds for every group of instances of ours alone, and nothing is said of a list other than the one that was
// compared.
func TestExactServers(t *testing.T) {
	t.Parallel()
	mine := us().Group("1")
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.Bool().Draw(t, "plain")
		draw := func(name string, descriptions ...string) []model.Server {
			var list []model.Server
			for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(1, 9), 0, 6, rapid.ID).Draw(t, name) {
				s := ecs(n, 80, rapid.Int32Range(0, 2).Draw(t, "weight"), rapid.SampledFrom(descriptions).Draw(t, "description"))
				if !plain && rapid.IntRange(0, 3).Draw(t, "pod") == 0 {
					s.Type, s.IP = model.ENI, s.ID
					if rapid.IntRange(0, 2).Draw(t, "unresolved") == 0 {
						s.ID = ""
					}
				}
				list = append(list, s)
			}
			slices.SortFunc(list, model.Server.Compare)
			return list
		}
		want, have := model.Group{Name: mine, Servers: draw("want", mine)}, model.Group{ID: "rsp-1", Name: mine, Servers: draw("have", mine)}
		if !plain {
			have.Servers = append(have.Servers, draw("others", mine, "by hand")...) // Some may be there twice.
			slices.SortFunc(have.Servers, model.Server.Compare)
			want.KeepWeights, want.OnlyRemove = rapid.Bool().Draw(t, "keep weights"), rapid.Bool().Draw(t, "only remove")
			want.Draining, want.Staying = map[model.ServerKey]bool{}, map[model.ServerKey]bool{}
			for _, s := range have.Servers {
				switch rapid.IntRange(0, 5).Draw(t, "stays") {
				case 0:
					want.Draining[s.Place()] = true
				case 1:
					want.Staying[s.Place()] = true
				case 2:
					want.Unresolved = append(want.Unresolved, s.IP)
				}
			}
		}
		wanted, there := slices.Clone(want.Servers), slices.Clone(have.Servers)
		change := plan.DiffGroup(us(), want, have)
		if change == nil {
			return
		}
		o := model.Observed{Groups: []model.Group{have}}
		change.Effect(&o, Result{})
		if !slices.Equal(wanted, want.Servers) || !slices.Equal(there, have.Servers) {
			t.Errorf("the lists that were compared have changed: %v and %v, were %v and %v", want.Servers, have.Servers, wanted, there)
		}
	})
}
