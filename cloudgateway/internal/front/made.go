package front

import (
	"encoding/json"
	"encoding/xml"
	"maps"
	"slices"
	"strings"
)

// madeBy are the first ids at the top of an answer, e.g. that of what was created, or those of RunInstances in
// InstanceIdSets. They are the same in JSON and in XML.
func madeBy(body []byte) []string {
	const most, longest = 5, 64 << 10 // The answer to a creation is short.
	if len(body) > longest {
		return nil
	}
	top := topOf(body)
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(top)) {
		if name == "RequestId" || name == "HostId" {
			continue
		}
		for _, id := range top[name] {
			if len(ids) < most {
				ids = append(ids, bounded(name)+"="+bounded(id))
			}
		}
	}
	return ids
}

// topOf are the ids of the members of an answer; nil if it is none.
func topOf(body []byte) map[string][]string {
	ids := map[string][]string{}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil {
		for name, value := range members {
			ids[name] = idsIn(name, value)
		}
		return ids
	}
	var answer element
	if xml.Unmarshal(body, &answer) != nil {
		return nil
	}
	for _, member := range answer.Elements {
		name := member.XMLName.Local
		ids[name] = append(ids[name], member.idsOf(name)...)
	}
	return ids
}

// idsIn are the ids in a member of an answer in JSON: a text called …Id, or lists of such in …Ids or …IdSets.
func idsIn(name string, value json.RawMessage) (ids []string) {
	if isID(name) {
		var id string
		if json.Unmarshal(value, &id) == nil {
			ids = append(ids, id)
		}
		return ids
	}
	if !haveIDs(name) {
		return nil
	}
	var sets map[string][]string
	if json.Unmarshal(value, &ids) == nil || json.Unmarshal(value, &sets) != nil {
		return ids
	}
	for _, of := range slices.Sorted(maps.Keys(sets)) {
		ids = append(ids, sets[of]...)
	}
	return ids
}

// element is one of an answer in XML.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Elements []element `xml:",any"`
}

// idsOf are the ids in a member of an answer in XML: the text of …Id, or those of the elements of …Ids or …IdSets. A list has an
// element for each item, of the member's own name or within it.
func (e element) idsOf(name string) (ids []string) {
	if isID(name) || haveIDs(name) && len(e.Elements) == 0 {
		if text := strings.TrimSpace(e.Text); text != "" && len(e.Elements) == 0 {
			ids = append(ids, text)
		}
		return ids
	}
	if !haveIDs(name) {
		return nil
	}
	for _, item := range e.Elements {
		if text := strings.TrimSpace(item.Text); text != "" && len(item.Elements) == 0 {
			ids = append(ids, text)
		}
	}
	return ids
}

func isID(name string) bool { return strings.HasSuffix(name, "Id") }

func haveIDs(name string) bool {
	return strings.HasSuffix(name, "Ids") || strings.HasSuffix(name, "IdSets")
}
