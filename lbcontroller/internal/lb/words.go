package lb

import (
	"regexp"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// The texts of the engine are written in the words of a CLB, as people know them from its events. For another kind the
// words are changed where the texts leave the engine.
var kindWord, groupWord = regexp.MustCompile(`\bCLB(s?)\b`), regexp.MustCompile(`\bvServer group(s?)\b`)

// words changes a text to the words of the kind.
func (m Marks) words(text string) string {
	return groupWord.ReplaceAllString(kindWord.ReplaceAllString(text, string(m.Name)+"$1"), m.Groups+"$1")
}

// describe is a plan in the words of the kind, for logs.
func (m Marks) describe(p plan.Plan) string { return m.words(p.String()) }

// inWords is words for all that an outcome says.
func (m Marks) inWords(o controller.Outcome) controller.Outcome {
	if m.Name == annotation.CLB {
		return o
	}
	if o.Err != nil {
		o.Err = worded{o.Err, m.words(o.Err.Error())}
	}
	for i := range o.Events {
		o.Events[i].Message, o.Events[i].Cause = m.words(o.Events[i].Message), m.words(o.Events[i].Cause)
	}
	for i := range o.Gates {
		o.Gates[i].Message = m.words(o.Gates[i].Message)
	}
	return o
}

// previewInWords is words for all that a preview says.
func (m Marks) previewInWords(p controller.Preview) controller.Preview {
	for _, texts := range [][]string{p.Actions, p.Withheld, p.Refused, p.Warnings} {
		for i := range texts {
			texts[i] = m.words(texts[i])
		}
	}
	p.Error = m.words(p.Error)
	return p
}

// worded is an error in the words of the kind.
type worded struct {
	error
	text string
}

// Error is the text in the words of the kind.
func (e worded) Error() string { return e.text }

// Unwrap returns the error itself.
func (e worded) Unwrap() error { return e.error }

func joined(texts []string) string { return strings.Join(texts, "; ") }
