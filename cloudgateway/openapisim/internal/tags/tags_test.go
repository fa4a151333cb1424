package tags

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// service tags VPCs, with a code for each thing that can be wrong.
func service() Service {
	return Service{
		Untag: "UntagResources", MaxIDs: 2, Sized: true,
		Types: map[string]Type{"vpc": Of(func(c *state.Cloud) map[string]*state.Vpc { return c.Vpcs },
			func(v *state.Vpc) *[]state.Tag { return &v.Tags })},
		Codes: Codes{
			Type: "type", ID: "id", Key: "key", Value: "value", IDs: "ids", Tags: "tags", Duplicate: "duplicate", Quota: "quota",
			Neither: "neither", Page: "page", Statuses: map[string]int{"id": http.StatusNotFound},
		},
	}
}

// cloud has vpc-1 with the tags a=1 and b=2, and vpc-2 with a=2.
func cloud() *state.Cloud {
	c := state.New("r", "a")
	c.Vpcs["vpc-1"] = &state.Vpc{ID: "vpc-1", Tags: []state.Tag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}}
	c.Vpcs["vpc-2"] = &state.Vpc{ID: "vpc-2", Tags: []state.Tag{{Key: "a", Value: "2"}}}
	return c
}

// call calls an action of a service with parameters as name, value, … and returns its result or code.
func call(s Service, c *state.Cloud, action string, params ...string) (any, string) {
	values := map[string]string{"ResourceType": "vpc"}
	for i := 0; i < len(params); i += 2 {
		values[params[i]] = params[i+1]
	}
	settings := api.FastSettings()
	settings.Quotas.Tags = 3
	for _, a := range s.Actions() {
		if a.Name == action {
			result, err := a.Handle(&api.Context{Params: api.NewParams(values), State: c, Settings: &settings})
			if err != nil {
				return nil, fmt.Sprintf("%s %d", err.Code, err.Status)
			}
			return result, ""
		}
	}
	return nil, "no such action"
}

// many returns parameters name.1, name.2, … with a suffix, each with a value of its own.
func many(n int, name, suffix string) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s.%d%s", name, i+1, suffix), fmt.Sprintf("k%d", i))
	}
	return out
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	of := func(more ...string) []string { return append([]string{"ResourceId.1", "vpc-1"}, more...) }
	tests := []struct {
		name, action string
		params       []string
		want         string
	}{
		{"type", "TagResources", of("ResourceType", "x", "Tag.1.Key", "k"), "type 400"},
		{"ids", "TagResources", append(many(3, "ResourceId", ""), "Tag.1.Key", "k"), "ids 400"},
		{"unknown", "TagResources", []string{"ResourceId.1", "vpc-none", "Tag.1.Key", "k"}, "id 404"},
		{"no key", "TagResources", of("Tag.1.Value", "v"), "key 400"},
		{"longest key", "TagResources", of("Tag.1.Key", strings.Repeat("ü", 128)), ""},
		{"long key", "TagResources", of("Tag.1.Key", strings.Repeat("ü", 129)), "key 400"},
		{"reserved", "TagResources", of("Tag.1.Key", "ACS:x"), "key 400"},
		{"reserved", "TagResources", of("Tag.1.Key", "aliyun.x"), "key 400"},
		{"link", "TagResources", of("Tag.1.Key", "see http://x"), "key 400"},
		{"longest value", "TagResources", of("Tag.1.Key", "k", "Tag.1.Value", strings.Repeat("ü", 128)), ""},
		{"long value", "TagResources", of("Tag.1.Key", "k", "Tag.1.Value", strings.Repeat("ü", 129)), "value 400"},
		{"link in the value", "TagResources", of("Tag.1.Key", "k", "Tag.1.Value", "https://x"), "value 400"},
		{"twice", "TagResources", of("Tag.1.Key", "k", "Tag.2.Key", "k"), "duplicate 400"},
		{"more than a call takes", "TagResources", of(many(21, "Tag", ".Key")...), "tags 400"},
		{"more than a resource can have", "TagResources", of("Tag.1.Key", "k", "Tag.2.Key", "l"), "quota 400"},
		{"removal of too many", "UntagResources", of(many(21, "TagKey", "")...), "tags 400"},
		{"removal of an impossible one", "UntagResources", of("TagKey.1", "acs:x"), "key 400"},
		{"list of everything", "ListTagResources", nil, "neither 400"},
		{"foreign token", "ListTagResources", of("NextToken", "x"), "page 400"},
	}
	for _, tt := range tests {
		c := cloud()
		if _, got := call(service(), c, tt.action, tt.params...); got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.action, tt.name, got, tt.want)
		}
		if diff := cmp.Diff(cloud().Vpcs, c.Vpcs); tt.want != "" && diff != "" {
			t.Errorf("%s, %s, changed the tags (-before +after):\n%s", tt.action, tt.name, diff)
		}
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	one := []string{"ResourceId.1", "vpc-1"}
	tests := []struct {
		name, action string
		params       []string
		want         []state.Tag
	}{
		{"a new tag comes last", "TagResources", append(one, "Tag.1.Key", "c"), []state.Tag{{Key: "a", Value: "1"},
			{Key: "b", Value: "2"}, {Key: "c"}}},
		{"an old one keeps its place", "TagResources", append(one, "Tag.1.Key", "a", "Tag.1.Value", "9"),
			[]state.Tag{{Key: "a", Value: "9"}, {Key: "b", Value: "2"}}},
		{"one goes", "UntagResources", append(one, "TagKey.1", "a", "TagKey.2", "none"), []state.Tag{{Key: "b", Value: "2"}}},
		{"all go", "UntagResources", append(one, "All", "true"), nil},
		{"keys say more than all", "UntagResources", append(one, "All", "true", "TagKey.1", "b"), []state.Tag{{Key: "a", Value: "1"}}},
		{"nothing is named", "UntagResources", one, []state.Tag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}},
	}
	for _, tt := range tests {
		c := cloud()
		if _, code := call(service(), c, tt.action, tt.params...); code != "" {
			t.Errorf("%s: %s", tt.name, code)
		}
		if diff := cmp.Diff(tt.want, c.Vpcs["vpc-1"].Tags); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	anyOf, strict := service(), service()
	anyOf.Any, strict.Strict = true, true
	tests := []struct {
		name    string
		service Service
		params  []string
		want    string
	}{
		{"of one", service(), []string{"ResourceId.1", "vpc-1"}, "vpc-1/a vpc-1/b"},
		{"of one twice", service(), []string{"ResourceId.1", "vpc-2", "ResourceId.2", "vpc-2"}, "vpc-2/a"},
		{"of an unknown one", service(), []string{"ResourceId.1", "vpc-none"}, ""},
		{"of an unknown one, strictly", strict, []string{"ResourceId.1", "vpc-none"}, "id 404"},
		{"by key", service(), []string{"Tag.1.Key", "a"}, "vpc-1/a vpc-1/b vpc-2/a"},
		{"by key and value", service(), []string{"Tag.1.Key", "a", "Tag.1.Value", "2"}, "vpc-2/a"},
		{"by two tags", service(), []string{"Tag.1.Key", "a", "Tag.2.Key", "b"}, "vpc-1/a vpc-1/b"},
		{"by one of two tags", anyOf, []string{"Tag.1.Key", "b", "Tag.2.Key", "a", "Tag.2.Value", "2"}, "vpc-1/a vpc-1/b vpc-2/a"},
		{"first of a page", service(), []string{"Tag.1.Key", "a", "MaxResults", "1"}, "vpc-1/a"},
	}
	for _, tt := range tests {
		result, got := call(tt.service, cloud(), "ListTagResources", tt.params...)
		if got == "" {
			var places []string
			for _, tag := range result.(listed).TagResources.TagResource {
				places = append(places, tag.Place())
			}
			got = strings.Join(places, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Each tag of a resource is on exactly one page.
func TestPages(t *testing.T) {
	t.Parallel()
	token, seen := "", ""
	for range 3 {
		result, code := call(service(), cloud(), "ListTagResources", "Tag.1.Key", "a", "MaxResults", "1", "NextToken", token)
		if code != "" {
			t.Fatal(code)
		}
		page := result.(listed)
		seen, token = seen+page.TagResources.TagResource[0].Place()+" ", page.NextToken
	}
	if seen != "vpc-1/a vpc-1/b vpc-2/a " || token != "" {
		t.Errorf("the pages have %sand then %q", seen, token)
	}
}
