package cloud

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// Params are the parameters of a call. Empty values are never sent: the cloud knows no "set to nothing".
type Params map[string]string

// With adds a parameter unless its value is empty, and gives the parameters back.
func (p Params) With(name, value string) Params {
	if value != "" {
		p[name] = value
	}
	return p
}

// Bool adds a truth if it is there.
func (p Params) Bool(name string, value *bool) Params {
	if value != nil {
		p[name] = strconv.FormatBool(*value)
	}
	return p
}

// Number adds a number if it is there.
func (p Params) Number(name string, value *int32) Params {
	if value != nil {
		p[name] = strconv.Itoa(int(*value))
	}
	return p
}

// Int adds a number unless it is zero.
func (p Params) Int(name string, value int) Params {
	if value != 0 {
		p[name] = strconv.Itoa(value)
	}
	return p
}

// List adds name.1, name.2, …
func (p Params) List(name string, values []string) Params {
	for i, v := range values {
		p[fmt.Sprintf("%s.%d", name, i+1)] = v
	}
	return p
}

// Items adds name.1.Key, name.1.Value, … for each map of members; empty members are left out.
func (p Params) Items(name string, items []map[string]string) Params {
	for i, item := range items {
		for member, value := range item {
			p.With(fmt.Sprintf("%s.%d.%s", name, i+1, member), value)
		}
	}
	return p
}

// JSONList adds the values as one parameter with a JSON list of strings.
func (p Params) JSONList(name string, values []string) Params {
	if len(values) == 0 {
		return p
	}
	return p.JSON(name, values)
}

// JSON adds a value as one parameter in JSON form. The value must have one, as lists of texts, and of structs of texts, do.
func (p Params) JSON(name string, value any) Params {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	p[name] = string(encoded)
	return p
}

// Merge adds all parameters of another set.
func (p Params) Merge(more map[string]string) Params {
	maps.Copy(p, more)
	return p
}

// Tags adds Tag.1.Key, Tag.1.Value, … A tag without a value is sent as a key only, which the cloud's filters read as "any".
func Tags(p Params, tags []*commonv1.Tag) Params {
	items := make([]map[string]string, len(tags))
	for i, t := range tags {
		items[i] = map[string]string{"Key": t.GetKey(), "Value": t.GetValue()}
	}
	return p.Items("Tag", items)
}

// Sorted gives the distinct values in order.
func Sorted(values []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// SortedBy sorts items by a key, and gives them back.
func SortedBy[T any](items []T, key func(T) string) []T {
	slices.SortFunc(items, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return items
}

// Distinct gives the items in the order of a key, each once: one that moved between two pages may be on both.
func Distinct[T any](items []T, key func(T) string) []T {
	return SortedBy(slices.Collect(maps.Values(ByKey(items, key))), key)
}

// ByKey gives the items by a key.
func ByKey[T any](items []T, key func(T) string) map[string]T {
	byKey := make(map[string]T, len(items))
	for _, item := range items {
		byKey[key(item)] = item
	}
	return byKey
}
