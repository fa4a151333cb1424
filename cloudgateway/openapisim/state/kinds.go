package state

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
)

// kinds are the maps of a cloud, each of which holds one kind of resource by id, with their names in JSON: what a new kind needs
// is its field.
func (c *Cloud) kinds() iter.Seq2[reflect.Value, string] {
	return func(yield func(reflect.Value, string) bool) {
		for field, value := range reflect.ValueOf(c).Elem().Fields() {
			if value.Kind() == reflect.Map && !yield(value, memberName(field)) {
				return
			}
		}
	}
}

// Has reports whether there is anything with an id.
func (c *Cloud) Has(id string) bool {
	for kind := range c.kinds() {
		if kind.MapIndex(reflect.ValueOf(id)).IsValid() {
			return true
		}
	}
	return false
}

// memberName is the name of a field in JSON.
func memberName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// Fill sets a text that a seed left out.
func Fill(field *string, value string) { *field = cmp.Or(*field, value) }

// Suffix is an id without its kind, "node1" of "i-node1", from which ids of what belongs to it are made.
func Suffix(id string) string {
	if _, rest, ok := strings.Cut(id, "-"); ok {
		return rest
	}
	return id
}

// Add adds resources; those with a known id are replaced. Ids that were ever handed out in either are not handed out again.
func (c *Cloud) Add(resources *Cloud) {
	c.Sequence = max(c.Sequence, resources.Sequence)
	added := reflect.ValueOf(resources).Elem()
	for i, whole := range reflect.ValueOf(c).Elem().Fields() {
		if whole.Kind() != reflect.Map {
			continue
		}
		for id, resource := range added.FieldByIndex(i.Index).Seq2() {
			whole.SetMapIndex(id, resource)
		}
	}
	c.Vanishing = append(c.Vanishing, resources.Vanishing...)
	c.Recount()
	c.NLBRunningJobs = append(c.NLBRunningJobs, resources.NLBRunningJobs...)
}

// Check refuses resources that are null or have null parts, sets the ids that are given as keys only, and reports those that
// contradict their key.
func (c *Cloud) Check() error {
	var problems []error
	for _, path := range nulls(reflect.ValueOf(c)) {
		problems = append(problems, fmt.Errorf("%s: is null", strings.TrimPrefix(path, ".")))
	}
	for kind, name := range c.kinds() {
		for key, resource := range kind.Seq2() {
			if resource.IsNil() {
				continue // it is reported as such
			}
			id := resource.Elem().FieldByName("ID")
			if !id.IsValid() {
				continue // it has none of its own
			}
			if id.String() == "" {
				id.SetString(key.String())
			}
			if id.String() != key.String() {
				problems = append(problems, fmt.Errorf("%s[%q]: id is %q; it must be the key", name, key, id))
			}
		}
	}
	return errors.Join(problems...)
}

// nulls reports every item of a map or list that is null, by its path; handlers rely on that there is none. Members that can be left
// out can be null.
func nulls(v reflect.Value) (paths []string) {
	item := func(v reflect.Value, name func() string) {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			paths = append(paths, name())
			return
		}
		for _, path := range nulls(v) {
			paths = append(paths, name()+path)
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		return nulls(v.Elem())
	case reflect.Struct:
		for field, value := range v.Fields() {
			if name := memberName(field); name != "" {
				for _, path := range nulls(value) {
					paths = append(paths, "."+name+path)
				}
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			item(v.MapIndex(key), func() string { return fmt.Sprintf("[%q]", key) })
		}
	case reflect.Slice:
		for i := range v.Len() {
			item(v.Index(i), func() string { return fmt.Sprintf("[%d]", i) })
		}
	default: // has no items
	}
	return paths
}
