package openapisim_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestWhatHasTagsIsTagged: each kind of thing that has tags in the state can be tagged: ListTagResources of a product finds it. What a
// product leaves out of its tagging() would have tags that nobody can change or look for.
func TestWhatHasTagsIsTagged(t *testing.T) {
	t.Parallel()
	otherwise := map[string]string{
		"cidrReservations": "the documents name no type of resource for it",
		"userCertificates": "the product has no actions for tags",
		"clusters":         "the actions of the product for tags are not simulated",
	}
	kinds := reflect.TypeFor[state.Cloud]()
	seen := 0
	for field := range kinds.Fields() {
		if field.Type.Kind() != reflect.Map {
			continue
		}
		kind, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		item := reflect.New(field.Type.Elem().Elem())
		for _, name := range tagAll(item.Elem(), kind) {
			seen++
			found := findTagged(t, field.Name, item, name)
			why, excused := otherwise[name]
			switch {
			case !found && !excused:
				t.Errorf("%s have tags, and no product finds them in ListTagResources: tagging() of one has to have the kind", name)
			case found && excused:
				t.Errorf("%s are found, though %s", name, why)
			}
			delete(otherwise, name)
		}
	}
	if seen < 30 || len(otherwise) > 0 {
		t.Errorf("%d kinds have tags; %v have none", seen, otherwise)
	}
}

// tagAll gives a thing, and what is in it, a tag with the value of its kind. It returns the kinds that have tags.
func tagAll(thing reflect.Value, kind string) (names []string) {
	for field, value := range thing.Fields() {
		switch {
		case field.Name == "ID":
			value.SetString(kind)
		case field.Name == "Tags":
			value.Set(reflect.ValueOf([]state.Tag{{Key: "planted", Value: kind}}))
			names = append(names, kind)
		case value.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Pointer && field.Type.Elem().Elem().Kind() == reflect.Struct:
			part := reflect.New(field.Type.Elem().Elem())
			inner, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if below := tagAll(part.Elem(), kind+"."+inner); len(below) > 0 {
				value.Set(reflect.Append(value, part))
				names = append(names, below...)
			}
		}
	}
	return names
}

// findTagged reports whether a product finds what has the tag with a value, in a cloud with nothing but one thing.
func findTagged(t *testing.T, field string, item reflect.Value, value string) bool {
	t.Helper()
	cloud := state.New("cn-hangzhou", "1000000000000001")
	kind := reflect.ValueOf(cloud).Elem().FieldByName(field)
	kind.SetMapIndex(reflect.ValueOf(strings.Split(value, ".")[0]), item)
	for _, p := range openapisim.Products() {
		at := slices.IndexFunc(p.Actions, func(a api.Action) bool { return a.Name == "ListTagResources" })
		if at < 0 {
			continue
		}
		call := func(resourceType string) (any, *api.Error) {
			settings := api.FastSettings()
			return p.Actions[at].Handle(&api.Context{
				Params: api.NewParams(map[string]string{
					"RegionId": cloud.Region, "ResourceType": resourceType, "Tag.1.Key": "planted", "Tag.1.Value": value,
				}),
				State: cloud, Now: time.Unix(0, 0), Account: cloud.Account, Region: cloud.Region, Settings: &settings,
			})
		}
		for _, resourceType := range typesOf(t, p.Actions[at], call) {
			answer, refused := call(resourceType)
			text, err := json.Marshal(answer)
			if refused != nil || err != nil {
				t.Fatalf("%s ListTagResources %s: %v %v", p.Name, resourceType, refused, err)
			}
			if strings.Contains(string(text), `"TagValue":"`+value+`"`) {
				return true
			}
		}
	}
	return false
}

// typesOf are the types of resources of a product: those of the parameter, or those that the answer to an unknown one names.
func typesOf(t *testing.T, list api.Action, call func(string) (any, *api.Error)) []string {
	t.Helper()
	at := slices.IndexFunc(list.Params, func(p api.Param) bool { return p.Name == "ResourceType" })
	if at >= 0 && len(list.Params[at].Enum) > 0 {
		return list.Params[at].Enum
	}
	_, refused := call("unknown")
	if refused == nil {
		t.Fatal("an unknown type is taken")
	}
	known := regexp.MustCompile(`is none of (.*)\.$`).FindStringSubmatch(refused.Message)
	if known == nil {
		t.Fatalf("no types in %q", refused.Message)
	}
	return strings.Split(known[1], ", ")
}
