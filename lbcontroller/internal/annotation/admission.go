package annotation

import (
	"fmt"
	"slices"
	"strings"
)

// AdmissionPolicy renders the table as a ValidatingAdmissionPolicy, so that the API server refuses the values that the parser refuses. It
// looks only at annotations that a request adds or changes: a Service that has had a bad value for long can be edited elsewhere, and its
// finalizer can be taken away. Deleted Services and those of other controllers don't match, nor does their status.
func AdmissionPolicy() string {
	var b strings.Builder
	b.WriteString("# Generated from lbcontroller/internal/annotation; do not edit.\n" +
		"apiVersion: admissionregistration.k8s.io/v1\n" +
		"kind: ValidatingAdmissionPolicy\n" +
		"metadata:\n" +
		"  name: service-annotations.lbcontroller.alibabacloud.com\n" +
		"spec:\n" +
		"  # The controller refuses bad values itself: what can't be judged here is left to it.\n" +
		"  failurePolicy: Ignore\n" +
		"  matchConstraints:\n" +
		"    resourceRules:\n" +
		"      - {apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [services]}\n" +
		"  matchConditions:\n" +
		"    - name: served\n")
	expression(&b, "      expression", served("object"))
	b.WriteString("    - name: stays\n" +
		"      expression: '!has(object.metadata.deletionTimestamp)'\n" +
		"  variables:\n" +
		"    # The annotations, and those that the Service had, if it was served before.\n" +
		"    - name: annotations\n" +
		"      expression: 'object.metadata.?annotations.orValue({})'\n" +
		"    - name: before\n")
	expression(&b, "      expression", "oldObject != null && "+served("oldObject")+"\n  ? oldObject.metadata.?annotations.orValue({}) : {}")
	b.WriteString("    # Whether the load balancer is an NLB. Else it is a CLB.\n" +
		"    - name: nlb\n" +
		"      expression: 'object.spec.?loadBalancerClass.orValue(\"\") == \"" + NLBClass + "\"'\n")
	b.WriteString("    # Those of a load balancer that the request adds or changes. A current name hides the older one.\n" +
		"    - name: asked\n")
	expression(&b, "      expression", fmt.Sprintf(`variables.annotations.filter(n,
  (n.startsWith('%[1]s') ||
    n.startsWith('%[2]s') && !(n.replace('%[2]s', '%[1]s', 1) in variables.annotations)) &&
  variables.annotations[n] != '' && variables.annotations[n] != variables.before[?n].orValue(''))
.map(n, {
  'key': n.substring(n.indexOf('loadbalancer-') + %[3]d),
  'value': variables.annotations[n].trim(),
  'refusal': 'annotation ' + n + ': value "' + variables.annotations[n] + '" is not allowed, use '})`,
		Prefix, LegacyPrefix, len("loadbalancer-")))
	b.WriteString("  validations:\n")
	for _, s := range sideBySide() {
		expression(&b, "    - expression", fmt.Sprintf("%svariables.asked.all(a, a.key != '%s' ||\n  %s)",
			s.notFor(), s.Key, s.condition()))
		expression(&b, "      messageExpression", fmt.Sprintf("variables.asked.filter(a, a.key == '%s')[0].refusal +\n  '%s'%s",
			s.Key, s.Allowed(), s.hint()))
		fmt.Fprintf(&b, "      message: 'annotation %s%s: the value is not allowed, use %s'\n", Prefix, s.Key, s.Allowed())
	}
	for _, s := range sideBySide() {
		if s.isAccessWord() {
			b.WriteString(s.isForThis())
		}
	}
	return b.String()
}

// expression writes an entry with a text of several lines.
func expression(b *strings.Builder, key, text string) {
	fmt.Fprintf(b, "%s: |-\n", key)
	indent := strings.Repeat(" ", len(key)-len(strings.TrimLeft(key, " -"))+2)
	for line := range strings.Lines(text) {
		b.WriteString(indent + line)
	}
	b.WriteString("\n")
}

// notFor is the beginning of a condition in CEL: it holds for Services that the row isn't about.
func (s Spec) notFor() string {
	switch {
	case len(s.For) == 0:
		return "variables.nlb || "
	case len(s.For) == 1:
		return "!variables.nlb || "
	}
	return ""
}

// isAccessWord reports whether a row is about who may connect to load balancers of its kind.
func (s Spec) isAccessWord() bool { return slices.Contains(accessWords(s.kind()), s.Key) }

// kind is the kind of a row that is for one kind alone.
func (s Spec) kind() LoadBalancer {
	if len(s.For) == 0 {
		return CLB
	}
	return s.For[0]
}

// isForThis refuses a word about who may connect that is for the other kind: it would restrict nothing.
func (s Spec) isForThis() string {
	is, key, nothing := "!variables.nlb", ACLStatus, ".lowerAscii() in ['off', 'false']"
	if s.kind() == NLB {
		is, key, nothing = "variables.nlb", SecurityGroupIDs, " == '"+None+"'"
	}
	text := fmt.Sprintf("is for %ss and restricts nothing here; %s", s.kind(), s.kind().other().counterpart())
	var b strings.Builder
	expression(&b, "    - expression", fmt.Sprintf("%s || !variables.asked.exists(a, a.key == '%s') ||\n  "+
		"variables.annotations[?'%[3]s%[5]s'].orValue(variables.annotations[?'%[4]s%[5]s'].orValue('')).trim()%[6]s",
		is, s.Key, Prefix, LegacyPrefix, key, nothing))
	fmt.Fprintf(&b, "      message: 'annotation %s%s %s'\n", Prefix, s.Key, text)
	return b.String()
}

// served is a condition in CEL: the load balancer of the Service is the controller's. A Service with LoadBalancerType
// is never checked: whether it is another controller's is in the configuration. The chart puts the class of CLBs in that is configured.
func served(object string) string {
	return fmt.Sprintf(`%[1]s.spec.type == 'LoadBalancer' &&
  (has(%[1]s.spec.loadBalancerClass) && %[1]s.spec.loadBalancerClass in ['%[6]s', '%[5]s'] ||
  !has(%[1]s.spec.loadBalancerClass) &&
  %[1]s.metadata.?annotations[?'%[2]s'].orValue('') == '' &&
  %[1]s.metadata.?annotations[?'%[3]s'].orValue('') == '' &&
  %[1]s.metadata.?annotations[?'%[4]s'].orValue('') == '')`, object, Class, LoadBalancerType, TunnelType, NLBClass, CLBClass)
}

// items are the parts of a list, in CEL.
func items(value string) string {
	return value + ".split(',').map(i, i.trim()).filter(i, i != '')"
}

// short leaves long lists to the controller: annotations may have a quarter of a MiB, and to take that apart costs the API server seconds.
const short = "size(a.value) > 4096 || "

// condition is what the parser asks of a value, in CEL. The value is a.value, without the spaces around it. The end-to-end tests hold the
// API server and the parser against each other. Whether a port has two values is left to the controller.
func (s Spec) condition() string {
	switch {
	case s.Refused:
		return "false"
	case !s.ByPort():
		return s.valueCondition("a.value")
	}
	return fmt.Sprintf(short+"(!%[1]s.exists(i,\n    %[2]s) ?\n  %[3]s :\n  %[1]s.all(i,\n    %[2]s ?\n"+
		"    [i.split(':', 2).map(p, p.trim())].all(p, p[0].matches('^0*[1-9][0-9]{0,4}$') && int(p[0]) <= %[4]d &&\n"+
		"      [p[1]].all(v, %[5]s)) :\n    [i].all(v, %[5]s)))",
		items("a.value"), s.ofPortCondition(), s.valueCondition("a.value"), maxPort, s.valueCondition("v"))
}

// ofPortCondition is what ofPort asks of i, an item of a value.
func (s Spec) ofPortCondition() string {
	text := "i.contains(':') && i.split(':', 2)[0].trim().matches('^[0-9]+$')"
	switch {
	case s.Kind == Text && s.Pattern == AnyText:
		text += " && size(i.split(':')) == 2"
	case s.Kind == Pairs:
		text += fmt.Sprintf(" && i.split(':', 2)[1].contains('%s')", s.Separator)
	}
	return text
}

// hint says in CEL how a value is written that is for one port.
func (s Spec) hint() string {
	if !s.ByPort() {
		return ""
	}
	return " +\n  ', or PORT:VALUE for one port'"
}

// valueCondition is what parse asks of a value, in CEL.
func (s Spec) valueCondition(value string) string {
	switch s.Kind {
	case Choice:
		return matches(value, oneOf(s.Values))
	case Choices:
		return fmt.Sprintf("(%[3]ssize(%[1]s) > 0 &&\n  %[1]s.all(i, %[2]s))", items(value), matches("i", oneOf(s.Values)), short)
	case Switch:
		return value + ".lowerAscii() in ['on', 'true', 'off', 'false']"
	case Number:
		cases := []string{fmt.Sprintf("int(%[3]s) >= %[1]d && int(%[3]s) <= %[2]d", s.Min, s.Max, value)}
		for _, n := range s.Also {
			cases = append(cases, fmt.Sprintf("int(%s) == %d", value, n))
		}
		// No range needs more than nine digits, and int fails above nineteen.
		return matches(value, "^[+-]?0*[0-9]{1,9}$") + " &&\n  (" + strings.Join(cases, " || ") + ")"
	case List:
		all := ""
		if expr := s.Pattern.expr(); expr != "" {
			all = fmt.Sprintf(" && %s.all(i, %s)", items(value), matches("i", expr))
		}
		return fmt.Sprintf("(%[2]ssize(%[1]s) > 0%[3]s)", items(value), short, all)
	case Pairs:
		return fmt.Sprintf("(%[3]ssize(%[1]s) > 0 &&\n  %[1]s.all(i, %[2]s))", items(value), s.pairCondition(), short)
	case Text:
	}
	conditions := []string{value + " != ''"}
	if s.Max > 0 {
		conditions = append(conditions, fmt.Sprintf("size(bytes(%s)) <= %d", value, s.Max))
	}
	if expr := s.Pattern.expr(); expr != "" {
		conditions = append(conditions, matches(value, expr))
	}
	if s.Pattern == HostText {
		conditions = append(conditions, "!"+matches(value, ipv4Form))
	}
	return strings.Join(conditions, " && ")
}

// ipv4Form is what addresses look like, which are no names.
const ipv4Form = "^([0-9]+[.]){3}[0-9]+$"

// pairCondition is about i, one key and value.
func (s Spec) pairCondition() string {
	key := fmt.Sprintf("i.split('%s', 2)[0].trim()", s.Separator)
	conditions := []string{key + " != ''"}
	if expr := s.Pattern.expr(); expr != "" {
		conditions = []string{matches(key, expr)}
	}
	if s.Key != AdditionalTags {
		conditions = append(conditions, fmt.Sprintf("i.contains('%s')", s.Separator))
	}
	if s.Separator == ":" {
		conditions = append(conditions, "i.split(':', 2)[1].trim() != ''")
	}
	return strings.Join(conditions, " && ")
}

// label is one part of a DNS name.
const label = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"

// expr is a regular expression for what matches accepts, or "" if it accepts everything.
func (p Pattern) expr() string {
	switch p {
	case CookieText:
		return "^[A-Za-z0-9_-]*$"
	case PathText:
		return "^/"
	case IPv4Text:
		const octet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
		return "^(" + octet + "[.]){3}" + octet + "$"
	case HostText:
		return "^" + label + "([.]" + label + ")*$"
	case CertificateText:
		return "^(" + label + "/)?" + label + "([.]" + label + ")*$"
	case IDText:
		return "^[A-Za-z0-9._-]{1,64}$"
	case AnyText:
	}
	return ""
}

func matches(what, expr string) string { return fmt.Sprintf("%s.matches('%s')", what, expr) }

// oneOf folds the case of letters as strings.EqualFold does. A dot is one, as in HTTP1.1.
func oneOf(values []string) string {
	return "(?i)^(" + strings.ReplaceAll(strings.Join(values, "|"), ".", "[.]") + ")$"
}
