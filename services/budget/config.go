package budget

import (
	"time"

	"alicloud-controllers.dev/services/config"
)

// maxMinimum is the greatest minimum; more is no bound at all.
const maxMinimum = 1000

// Config is the part of a configuration file that bounds deletions.
type Config struct {
	// Window is the time in which deletions are counted. A ConfigMap keeps the count for the next leader.
	Window config.Duration `json:"window"`
	// Minimum is how many may go in the window in a small cluster. Never more than half of all go.
	Minimum int `json:"minimum"`
	// Percent of all may go in the window, if that is more than the minimum.
	Percent int `json:"percent"`
}

// Policy is what it says.
func (c Config) Policy() Policy {
	return Policy{Window: time.Duration(c.Window), Minimum: c.Minimum, Percent: c.Percent}
}

// Validate notes what is wrong under a key. The least minimum is what the caller needs.
func (c Config) Validate(p *config.Problems, key string, least int) {
	p.Positive(key+".window", c.Window)
	p.Range(key+".minimum", c.Minimum, least, maxMinimum)
	p.Range(key+".percent", c.Percent, 0, 100) //nolint:mnd // Percent.
}
