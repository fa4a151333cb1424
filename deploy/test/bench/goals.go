package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// Names of situations that have goals.
const (
	created       = "Services are created"
	createdAtOnce = "Services are created without waiting times"
	nodeJoins     = "one node joins"
	nodeLeaves    = "one node leaves"
	restarts      = " restarts" // after the name of a process
)

// Goal is a promise, and what a run measured of it.
type Goal struct {
	Name     string  `json:"name"`
	Measured float64 `json:"measured"`
	Most     float64 `json:"at_most"`
	Unit     string  `json:"unit"`
}

func (g Goal) String() string {
	return fmt.Sprintf("%s is %.2f %s, it must be at most %g %s", g.Name, g.Measured, g.Unit, g.Most, g.Unit)
}

func (g Goal) met() bool { return g.Measured <= g.Most }

// What is promised.
const (
	mostForWaiting   = 2.0 // times as long with the cloud's waiting times
	mostForLimits    = 1.1 // times as long as CreateLoadBalancer's limit allows
	mostRefused      = 1.0 // percent of the calls
	mostAfterRestart = 5.0 // seconds
	mostToServe      = 10.0
	mostCPUToCreate  = 10.0 // milliseconds for each Service
	mostCPUOfANode   = 1.0
	mostJobReads     = 0.2 // for each job
)

// The largest cluster for which memory is promised.
const mostNodesForMemory, mostServicesForMemory = 1000, 2000

// mostMiB is the promised peak of a process.
func mostMiB(process string) float64 {
	switch process {
	case "cloudgateway":
		return 150
	case world.LB:
		return 300
	}
	return 120
}

// createWindow is the window of the published limit of CreateLoadBalancer.
const createWindow = time.Minute

// best is the time in which n load balancers can be created at best: all that a window allows, at its beginning.
func best(start time.Time, n, inWindow int) time.Duration {
	windows := (n - 1) / inWindow // besides the first
	return max(0, time.Duration(windows)*createWindow-start.Sub(start.Truncate(createWindow)))
}

// goals are those of which the run says something. What a process does anyway weighs little only beside many Services,
// and a few windows too short to be compared.
func (r Report) goals() []Goal {
	const enoughServices, enoughWindows, enoughJobs = 1000, 5, 400
	balancers := cmp.Or(kind(r.Kind), clb)
	var goals []Goal
	add := func(name string, measured, most float64, unit string) {
		goals = append(goals, Goal{name, measured, most, unit})
	}
	rows := map[string]Row{}
	for _, row := range r.Rows {
		rows[row.Name] = row
	}
	row, ok := rows[created]
	if without := rows[createdAtOnce].Seconds; ok && without > 0 && !r.Limits {
		add("all addresses: the time with the cloud's waiting times", row.Seconds/without, mostForWaiting, "times the time without")
	}
	if calls := row.Reads + row.Writes; calls > 0 && r.Limits {
		add("calls refused while Services are created", 100*float64(sum(row.Refused))/float64(calls), mostRefused, "%")
	}
	if inWindow := balancers.createsInWindow(); ok && r.Limits && r.Services > inWindow*(enoughWindows-1) {
		add("all addresses: the time", row.Seconds/best(row.Started, r.Services, inWindow).Seconds(), mostForLimits,
			"times what CreateLoadBalancer's limit allows")
	}
	if balancers == nlb && row.Writes >= enoughJobs { // Each of these writes has a job.
		add("Services are created: reads of jobs", float64(row.Calls["nlb/ListAsynJobs"])/float64(row.Writes), mostJobReads, "for each job")
	}
	cpu := func(row Row, name string, most float64) {
		if used := row.Processes[world.LB]; used.PeakMiB > 0 && r.Services >= enoughServices {
			add(name+": CPU of lbcontroller for each Service", 1000*used.CPUSeconds/float64(r.Services), most, "ms")
		}
	}
	cpu(row, created, mostCPUToCreate)
	for _, name := range []string{nodeJoins, nodeLeaves} {
		row, ok := rows[name]
		if ok && !r.Limits { // Else the limits decide.
			add(name+": last write to the cloud", row.Written, mostToServe, "s")
		}
		cpu(row, name, mostCPUOfANode)
	}
	for _, row := range r.Rows {
		if strings.HasSuffix(row.Name, restarts) {
			add(row.Name+": address of a new Service", row.Fresh, mostAfterRestart+balancers.takes(), "s")
		}
	}
	if r.Nodes > mostNodesForMemory || r.Services > mostServicesForMemory {
		return goals
	}
	for _, name := range append([]string{"cloudgateway"}, world.Controllers()...) {
		peak := 0.0
		for _, row := range r.Rows {
			peak = max(peak, row.Processes[name].PeakMiB)
		}
		if peak > 0 {
			add(name+": peak memory", peak, mostMiB(name), "MiB")
		}
	}
	return goals
}

// check names the goals that were missed.
func (r Report) check() error {
	var missed []error
	for _, g := range r.Goals {
		if !g.met() {
			missed = append(missed, fmt.Errorf("goal missed: %s", g))
		}
	}
	return errors.Join(missed...)
}
