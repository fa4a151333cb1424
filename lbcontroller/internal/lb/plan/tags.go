package plan

import (
	"slices"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// fewTags is how many tags an instance may have at most to be marked as a user's, reused or kept, as with the existing CCM.
const fewTags = 10

// MissingTags returns the tags that are wanted and missing or different. Tags of others are not looked at. A missing cluster tag
// isn't repaired, since instances made by old versions never had it. The mark of a user's instance has an action of its own.
func MissingTags(want []*commonv1.Tag, have map[string]string) []*commonv1.Tag {
	var missing []*commonv1.Tag
	for _, t := range want {
		value, ok := have[t.GetKey()]
		switch key := t.GetKey(); {
		case key == ownership.TagCluster, key == ownership.TagReused, ok && (value == t.GetValue() || key == ownership.TagService):
			continue
		}
		missing = append(missing, t)
	}
	return missing
}

// mark marks a user's instance as reused before the first change that the Service makes there, so that no death in
// between leaves it unmarked. The mark alone is no reason to write, unless it has failed: what versions of the existing
// CCM before v1.9.3.378 left has none.
func (p *Plan) mark(kind Differ, d *model.Desired, o model.Observed) {
	have := o.Tags()
	if _, marked := have[ownership.TagReused]; marked || o.InstanceID == "" || len(have) >= fewTags ||
		len(p.Phases) == 0 && !d.Instance.Marking {
		return
	}
	if d.Instance.Spec == nil {
		return
	}
	at := slices.IndexFunc(d.Instance.Spec.GetTags(), func(t *commonv1.Tag) bool { return t.GetKey() == ownership.TagReused })
	if at < 0 {
		return
	}
	mark := d.Instance.Spec.GetTags()[at]
	for _, phase := range p.Phases[:min(len(p.Phases), 1)] {
		for i, action := range phase {
			if Is(action, PartInstance, VerbChange) { // One call does both.
				phase[i] = kind.Tagged(action, mark)
				return
			}
		}
	}
	p.Phases = slices.Insert(p.Phases, 0, Phase{kind.Tagged(nil, mark)})
}

// Marks reports whether a user's instance is marked as reused.
func (p Plan) Marks() bool {
	return p.has(func(a Action) bool {
		change, ok := a.(interface{ SetsTag(key string) bool })
		return ok && change.SetsTag(ownership.TagReused)
	})
}

// PresentTags returns the keys that are there.
func PresentTags(keys []string, have map[string]string) []string {
	var present []string
	for _, key := range keys {
		if _, ok := have[key]; ok {
			present = append(present, key)
		}
	}
	return present
}
