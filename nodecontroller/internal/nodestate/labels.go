package nodestate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
)

// Labels and the tag that only this cloud has.
const (
	labelChargeType   = "node.alibabacloud.com/instance-charge-type"
	labelSpotStrategy = "node.alibabacloud.com/spot-strategy"
	labelNodePool     = "node.alibabacloud.com/nodepool-id"
	tagNodePool       = "ack.alibabacloud.com/nodepool-id"
)

// Rule turns a tag of instances into something on their nodes. Exactly one of Label, Annotation and Taint is the key of that.
type Rule struct {
	Tag, Label, Annotation, Taint string
	// Effect is that of the taint.
	Effect corev1.TaintEffect
}

// What the annotation of what is ours calls annotations and taints by; labels have no prefix.
const annotationPrefix, taintPrefix = "annotation:", "taint:"

// entry is what the annotation of what is ours calls the target of a rule by.
func (r Rule) entry() string {
	switch {
	case r.Annotation != "":
		return annotationPrefix + r.Annotation
	case r.Taint != "":
		return taintPrefix + r.Taint
	default:
		return r.Label
	}
}

// Annotations are the keys of the annotations that rules make.
func (o Options) Annotations() []string {
	var keys []string
	for _, rule := range o.Rules {
		if rule.Annotation != "" {
			keys = append(keys, rule.Annotation)
		}
	}
	return keys
}

// OwnLabels are those that the controller sets on every node; no rule may.
func OwnLabels() []string {
	return append([]string{
		corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone,
		corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion,
	}, optional()...)
}

// optional are the labels that an instance may lose the value of.
func optional() []string { return []string{labelChargeType, labelSpotStrategy, labelNodePool} }

// complete reports whether the answer about an instance has what every instance has, so that what it lacks is not there.
func complete(instance *ecsv1.Instance) bool {
	return instance.GetInstanceType() != "" && instance.GetZoneId() != "" && instance.GetRegionId() != ""
}

// wanted is what the node of an instance has to have, by entry: the labels, and what the rules make of tags.
type wanted struct {
	values map[string]string
	// entries are those that come and go with the instance's values.
	entries []string
	effects map[string]corev1.TaintEffect
	// bad are the entries whose values can't be had: what is there stays.
	bad      map[string]bool
	problems []string
}

func wantedOf(instance *ecsv1.Instance, rules []Rule) *wanted {
	w := &wanted{values: map[string]string{}, effects: map[string]corev1.TaintEffect{}, bad: map[string]bool{}, entries: optional()}
	for key, value := range map[string]string{
		corev1.LabelInstanceType:            instance.GetInstanceType(),
		corev1.LabelInstanceTypeStable:      instance.GetInstanceType(),
		corev1.LabelFailureDomainBetaZone:   instance.GetZoneId(),
		corev1.LabelTopologyZone:            instance.GetZoneId(),
		corev1.LabelFailureDomainBetaRegion: instance.GetRegionId(),
		corev1.LabelTopologyRegion:          instance.GetRegionId(),
		labelChargeType:                     chargeType(instance.GetChargeType()),
		labelSpotStrategy:                   instance.GetSpotStrategy(),
	} {
		if value != "" { // What the cloud does not return is left out.
			w.want("the instance's", key, value)
		}
	}
	for _, tag := range instance.GetTags() {
		if tag.GetKey() == tagNodePool && tag.GetValue() != "" {
			w.want("tag "+tagNodePool+" has", labelNodePool, tag.GetValue())
		}
	}
	for _, rule := range rules {
		entry := rule.entry()
		w.entries = append(w.entries, entry)
		w.effects[entry] = rule.Effect
		for _, tag := range instance.GetTags() {
			if tag.GetKey() == rule.Tag {
				w.want("tag "+rule.Tag+" has", entry, tag.GetValue())
			}
		}
	}
	return w
}

// want notes a value, unless it can't be had: the API server would refuse it together with everything else.
func (w *wanted) want(whose, entry, value string) {
	if !strings.HasPrefix(entry, annotationPrefix) {
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			w.bad[entry] = true
			w.problems = append(w.problems, fmt.Sprintf("%s value %q, which %s can't have: %s; change it in the cloud",
				whose, value, describeEntry(entry), problems[0]))
			return
		}
	}
	w.values[entry] = value
}

func describeEntry(entry string) string {
	if key, ok := strings.CutPrefix(entry, taintPrefix); ok {
		return "taint " + key
	}
	if key, ok := strings.CutPrefix(entry, annotationPrefix); ok {
		return "annotation " + key
	}
	return "label " + entry
}

// managed gives the entries that we have set on a node.
func (w *wanted) managed(node *corev1.Node) []string {
	keys := strings.Split(node.Annotations[nodes.AnnotationCloudLabels], ",")
	return slices.DeleteFunc(keys, func(key string) bool { return !slices.Contains(w.entries, key) })
}

// there reports whether a node has an entry, and whether it has it with the wanted value.
func (w *wanted) there(node *corev1.Node, entry string) (has, equal bool) {
	value := w.values[entry]
	if key, ok := strings.CutPrefix(entry, taintPrefix); ok {
		i := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
		return i >= 0, i >= 0 && node.Spec.Taints[i].Value == value && node.Spec.Taints[i].Effect == w.effects[entry]
	}
	values, key := node.Labels, entry
	if name, ok := strings.CutPrefix(entry, annotationPrefix); ok {
		values, key = node.Annotations, name
	}
	have, has := values[key]
	return has, has && have == value
}

// manage decides about labels, and about what rules make of tags: what to set, what to take off, and what is ours from
// now on. Only what we have set is ever taken off; what was there before may be that of a user or another tool.
func (c *Change) manage(node *corev1.Node, instance *ecsv1.Instance, opts Options) {
	w := wantedOf(instance, opts.Rules)
	for entry := range w.values {
		if _, equal := w.there(node, entry); !equal && !slices.Contains(w.entries, entry) {
			c.set(w, entry, false)
		}
	}
	before := w.managed(node)
	var after []string
	for _, entry := range w.entries {
		has, equal := w.there(node, entry)
		_, wants := w.values[entry]
		ours := slices.Contains(before, entry)
		switch {
		case wants && has && !equal && !ours && !slices.Contains(optional(), entry):
			w.problems = append(w.problems, fmt.Sprintf("%s has a value that the controller has not set, and stays: take it off if "+
				"the tag of the instance, with value %q, is to give it", describeEntry(entry), w.values[entry]))
		case wants && !equal:
			c.set(w, entry, has)
			after = append(after, entry)
		case ours && !wants && !w.bad[entry] && complete(instance):
			if has {
				c.unset(entry)
			}
		case ours:
			after = append(after, entry)
		}
	}
	if !slices.Equal(before, after) {
		c.Managed = new(strings.Join(after, ","))
	}
	slices.Sort(w.problems)
	c.Problems = w.problems
}

// set gives the node an entry, in place of another value if it has one.
func (c *Change) set(w *wanted, entry string, has bool) {
	if key, ok := strings.CutPrefix(entry, taintPrefix); ok {
		if has {
			c.Untaint = append(c.Untaint, key)
		}
		c.Taint = append(c.Taint, corev1.Taint{Key: key, Value: w.values[entry], Effect: w.effects[entry]})
		return
	}
	values, key := &c.Labels, entry
	if name, ok := strings.CutPrefix(entry, annotationPrefix); ok {
		values, key = &c.Annotate, name
	}
	if *values == nil {
		*values = map[string]string{}
	}
	(*values)[key] = w.values[entry]
}

func (c *Change) unset(entry string) {
	if key, ok := strings.CutPrefix(entry, taintPrefix); ok {
		c.Untaint = append(c.Untaint, key)
	} else if name, ok := strings.CutPrefix(entry, annotationPrefix); ok {
		c.Unannotate = append(c.Unannotate, name)
	} else {
		c.Unlabel = append(c.Unlabel, entry)
	}
}

// chargeType is the cloud's word, which is what labels have always had.
func chargeType(c commonv1.ChargeType) string {
	switch c {
	case commonv1.ChargeType_CHARGE_TYPE_POST_PAID:
		return "PostPaid"
	case commonv1.ChargeType_CHARGE_TYPE_PRE_PAID:
		return "PrePaid"
	case commonv1.ChargeType_CHARGE_TYPE_UNSPECIFIED:
	}
	return ""
}
