package lb

import (
	"regexp"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

// The texts of the engine are written in the words of a CLB, as people know them from its events. For another kind the words are changed where the
// texts leave the engine.
var kindWord, groupWord = regexp.MustCompile(`\bCLB(s?)\b`), regexp.MustCompile(`\bvServer group(s?)\b`)

// words changes a text to the words of the kind.
func (k *Kind) words(text string) string {
	marks := k.Product.Marks()
	return groupWord.ReplaceAllString(kindWord.ReplaceAllString(text, string(marks.Name)+"$1"), marks.Groups+"$1")
}

// inWords is words for all that an outcome says.
func (k *Kind) inWords(o controller.Outcome) controller.Outcome {
	if k.Product.Marks().Name == annotation.CLB {
		return o
	}
	if o.Err != nil {
		o.Err = worded{o.Err, k.words(o.Err.Error())}
	}
	for i := range o.Events {
		o.Events[i].Message, o.Events[i].Cause = k.words(o.Events[i].Message), k.words(o.Events[i].Cause)
	}
	for i := range o.Gates {
		o.Gates[i].Message = k.words(o.Gates[i].Message)
	}
	return o
}

// previewInWords is words for all that a preview says.
func (k *Kind) previewInWords(p controller.Preview) controller.Preview {
	for _, texts := range [][]string{p.Actions, p.Withheld, p.Refused, p.Warnings} {
		for i := range texts {
			texts[i] = k.words(texts[i])
		}
	}
	p.Error = k.words(p.Error)
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
