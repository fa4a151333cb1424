// Package top shows in a terminal how the rate limits of the account are used, and by which callers.
package top

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/method"
)

const (
	// A picture is written over the one before: each of its lines erases what is left of the old one, and its end what is below.
	home, eraseLine, eraseRest = "\x1b[H", "\x1b[K", "\x1b[J"
	// patience bounds one question.
	patience = 10 * time.Second
)

// Config says what is shown, and where.
type Config struct {
	// Status asks the gateway.
	Status commonv1.StatusServiceClient
	// Interval is the time between two pictures; 0: there is one.
	Interval time.Duration
	// JSON is the form for scripts, which is one object with the fields of GetStatusResponse.
	JSON bool
	Out  io.Writer
}

// Run shows the status, again and again until ctx ends if there is an interval. Then an answer that is missing is shown
// as well, and tried again.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Interval <= 0 {
		return cfg.once(ctx)
	}
	ticks := time.NewTicker(cfg.Interval)
	defer ticks.Stop()
	for {
		status, err := cfg.ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		picture := table(status, false)
		if err != nil {
			picture = []byte(err.Error() + "\n")
		}
		picture = bytes.ReplaceAll(picture, []byte("\n"), []byte(eraseLine+"\n"))
		if _, err := fmt.Fprintf(cfg.Out, "%s%s%s", home, picture, eraseRest); err != nil {
			return err
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (cfg Config) once(ctx context.Context) error {
	status, err := cfg.ask(ctx)
	if err != nil {
		return err
	}
	text := table(status, true)
	if cfg.JSON {
		if text, err = (protojson.MarshalOptions{Multiline: true, EmitDefaultValues: true}).Marshal(status); err != nil {
			return fmt.Errorf("write the status as JSON: %w", err)
		}
		text = append(text, '\n')
	}
	_, err = cfg.Out.Write(text)
	return err
}

func (cfg Config) ask(ctx context.Context) (*commonv1.GetStatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	status, err := cfg.Status.GetStatus(ctx, &commonv1.GetStatusRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the gateway for its status: %w", err)
	}
	return status, nil
}

// barWidth is the length of the bar of an action whose allowance is used up.
const barWidth = 10

// table is the status as people read it: first the actions whose callers wait, then those that are used most. Those that are not used at
// present are counted, or listed too if idle is true.
func table(status *commonv1.GetStatusResponse, idle bool) []byte {
	var b bytes.Buffer
	now := status.GetAsOf().AsTime()
	fmt.Fprintf(&b, "cloudgateway %s  %s  %s\n%s\n", status.GetVersion(), status.GetRegionId(), now.Format(time.RFC3339),
		standing(status, now))
	if !status.GetActive() {
		return b.Bytes()
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	shown, hidden := actions(status.GetActions(), idle)
	fmt.Fprintln(w, "\nACTION\tUSED\t\tSENT\tBY\tWAITING\tREMARKS")
	for _, a := range shown {
		fmt.Fprintf(w, "%s %s\t%d%%\t%s\t%d of %d in %s\t%s\t%s\t%s\n", a.GetProduct(), a.GetAction(), used(a), bar(a),
			a.GetSent(), a.GetAllowance(), short(a.GetWindow().AsDuration()), sentBy(a), waiting(a), remarks(a, now))
	}
	if hidden > 0 {
		fmt.Fprintf(w, "%d more actions are idle\n", hidden)
	}
	fmt.Fprintln(w, "\nCALLER\tPRIORITY\tSENT\tREFUSED\tGAVE UP")
	for _, c := range status.GetCallers() {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", name(c.GetCaller()), method.PriorityName(c.GetPriority()), c.GetSent(),
			c.GetRefused(), c.GetGaveUp())
	}
	_ = w.Flush() // A buffer takes everything.
	return b.Bytes()
}

// standing says which replica is active.
func standing(status *commonv1.GetStatusResponse, now time.Time) string {
	pod, _, _ := strings.Cut(status.GetLeader(), "_")
	switch {
	case status.GetActive() && status.GetLeaderSince() == nil:
		return "active, without leader election"
	case status.GetActive():
		return fmt.Sprintf("active since %s (%s): %s", status.GetLeaderSince().AsTime().Format(time.RFC3339),
			short(now.Sub(status.GetLeaderSince().AsTime())), pod)
	case pod == "":
		return "standby; no replica is active at present"
	}
	return fmt.Sprintf("standby; run this command in the active replica, %s", pod)
}

// actions puts first what matters most, and counts what it leaves out.
func actions(all []*commonv1.ActionStatus, idle bool) (shown []*commonv1.ActionStatus, hidden int) {
	shown = slices.Clone(all)
	if !idle {
		shown = slices.DeleteFunc(shown, func(a *commonv1.ActionStatus) bool {
			return a.GetSent() == 0 && len(a.GetWaiting()) == 0 && !a.GetLearned() && a.GetPausedUntil() == nil
		})
	}
	slices.SortStableFunc(shown, func(x, y *commonv1.ActionStatus) int {
		return cmp.Or(cmp.Compare(queued(y), queued(x)), cmp.Compare(used(y), used(x)))
	})
	return shown, len(all) - len(shown)
}

func queued(a *commonv1.ActionStatus) (n int32) {
	for _, w := range a.GetWaiting() {
		n += w.GetCalls()
	}
	return n
}

// used is the part of its allowance that the gateway has used in the window, in percent.
func used(a *commonv1.ActionStatus) int32 {
	const percent = 100
	return a.GetSent() * percent / max(1, a.GetAllowance())
}

func bar(a *commonv1.ActionStatus) string {
	full := min(barWidth, int(a.GetSent())*barWidth/max(1, int(a.GetAllowance())))
	return strings.Repeat("#", full) + strings.Repeat(".", barWidth-full)
}

func sentBy(a *commonv1.ActionStatus) string {
	var all []string
	for _, c := range a.GetSentByCaller() {
		all = append(all, fmt.Sprintf("%s %d", name(c.GetCaller()), c.GetCalls()))
	}
	return orNone(strings.Join(all, ", "))
}

func waiting(a *commonv1.ActionStatus) string {
	var all []string
	for _, w := range a.GetWaiting() {
		all = append(all, fmt.Sprintf("%s %s %d for %s", name(w.GetCaller()), method.PriorityName(w.GetPriority()),
			w.GetCalls(), short(w.GetLongest().AsDuration())))
	}
	return orNone(strings.Join(all, ", "))
}

func remarks(a *commonv1.ActionStatus, now time.Time) string {
	var all []string
	switch {
	case a.GetAllowance() < a.GetLimit():
		all = append(all, fmt.Sprintf("others use the limit of %d too", a.GetLimit()))
	case a.GetAllowance() > a.GetLimit():
		all = append(all, fmt.Sprintf("more than the limit of %d is allowed", a.GetLimit()))
	}
	if a.GetPausedUntil() != nil {
		all = append(all, fmt.Sprintf("stopped for %s", short(a.GetPausedUntil().AsTime().Sub(now))))
	}
	if a.GetThrottled() > 0 {
		all = append(all, fmt.Sprintf("%d refused by the cloud", a.GetThrottled()))
	}
	return orNone(strings.Join(all, "; "))
}

func orNone(text string) string { return cmp.Or(text, "-") }

// name leaves out of a ServiceAccount's name what is the same in all.
func name(caller string) string {
	account, ok := strings.CutPrefix(caller, "system:serviceaccount:")
	if !ok {
		return caller
	}
	return strings.Replace(account, ":", "/", 1)
}

// short is a duration in whole seconds, without those parts at its end that are zero.
func short(d time.Duration) string {
	text := d.Round(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
