package main

import (
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// sample is a value of an annotation.
type sample struct {
	// For is the load balancer whose values these are, where kinds differ.
	For   annotation.LoadBalancer `json:"for,omitempty"`
	Key   string                  `json:"key"`
	Value string                  `json:"value"`
	// Allowed says that the parser takes it.
	Allowed bool `json:"allowed"`
}

// odd are values that only look right, or look wrong only: spaces that are not ASCII, letters that fold to ASCII ones, signs, and numbers
// that need more bits than there are.
func odd() []string {
	return []string{
		" ", ",", " , ,", "x", "-", "+", "=", ":", "a=", "=b", "a=b=c", "a:", ":b", "a:b", "a:b:c", " a : b ,, c:d, ",
		"a b:c", "a=b,c", "/", "/a b", "on", "On ", "true", "off", "oN",
		"\u00a0on\u2003", "fal\u017fe", "\u212a", "http_2xx,\u3000HTTP_3xx,", "http_2xx,http_1xx", "1.0", "0x10", "1_0", "+5",
		"-0", "007", "00000000000000000000010", "9999999999",
		"99999999999999999999", "-99999999999999999999", "1.2.3.4", "01.2.3.4", "1.2.3", "256.1.1.1", "::1", "1.2.3.4 ",
		"a.example.com", "no_host", "bis;cuit", "a_b-c.d",
		"\u4e91", strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("\u4e91", 30),
	}
}

// byPort are values for one port, made of a good one and a bad one of the row.
func byPort(good, bad string) []string {
	return []string{
		"443:" + good, good + ",443:" + good, "443:" + good + "," + good, " 443 : " + good + " ,, 80:" + good + ",", "65535:" + good,
		"443:" + bad, good + ",443:" + bad, bad + ",443:" + good, "443:", "0:" + good, "65536:" + good, "99999999999999999999:" + good,
		"x:" + good, "-1:" + good, "443:443:" + good, "\u00a0443\u3000:" + good, "\u0664:" + good,
	}
}

// firstGood is a value that the parser takes.
func firstGood(parser annotation.Parser, key string, values []string) string {
	for _, value := range values {
		if _, problems := parser.Parse(map[string]string{annotation.Prefix + key: value}); len(problems) == 0 && !strings.Contains(value, ",") {
			return value
		}
	}
	return "a"
}

// samples returns values of every annotation: what is on either side of each bound, and all that is odd for the first of each syntax.
func samples() []sample {
	type syntax struct {
		kind      annotation.Kind
		pattern   annotation.Pattern
		separator string
		tags      bool
	}
	seen := map[syntax]bool{}
	var all []sample
	nlbOnly := slices.DeleteFunc(slices.Clone(annotation.TableFor(annotation.NLB)),
		func(s annotation.Spec) bool { return len(s.For) > 1 })
	for _, spec := range slices.Concat(annotation.Table(), nlbOnly) {
		kind, parser := annotation.LoadBalancer(""), annotation.NewParser(annotation.CLB)
		if len(spec.For) == 1 {
			kind, parser = spec.For[0], annotation.NewParser(annotation.NLB)
		}
		values := append([]string{"?"}, spec.Values...)
		if s := (syntax{spec.Kind, spec.Pattern, spec.Separator, spec.Key == annotation.AdditionalTags}); !seen[s] {
			seen[s] = true
			values = append(values, odd()...)
		}
		for _, v := range spec.Values {
			values = append(values, strings.ToUpper(v), v+"x", " "+v+"\t", v+","+v)
		}
		if spec.Kind == annotation.Text && spec.Max > 0 {
			values = append(values, strings.Repeat("y", spec.Max), strings.Repeat("y", spec.Max+1),
				strings.Repeat("/", spec.Max), strings.Repeat("/", spec.Max+1))
		}
		for _, n := range append([]int{spec.Min, spec.Max}, spec.Also...) {
			if spec.Kind != annotation.Number {
				break
			}
			values = append(values, strconv.Itoa(n-1), strconv.Itoa(n), strconv.Itoa(n+1))
		}
		if spec.ByPort() {
			good := firstGood(parser, spec.Key, append(spec.Values, strconv.Itoa(spec.Max), "on", "/a", "a", "a:b"))
			values = append(values, byPort(good, "?")...)
		}
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			_, problems := parser.Parse(map[string]string{annotation.Prefix + spec.Key: value})
			all = append(all, sample{kind, spec.Key, value, len(problems) == 0})
		}
	}
	return all
}
