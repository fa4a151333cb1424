package state

import "time"

// LaunchTemplate holds what instances are to be made of.
type LaunchTemplate struct {
	ID              string    `json:"id"`
	Name            string    `json:"name"`
	ResourceGroupID string    `json:"resourceGroupId,omitempty"`
	Tags            []Tag     `json:"tags,omitempty"` // of the template, not of the instances
	Created         time.Time `json:"created"`
	Modified        time.Time `json:"modified"`
	// Versions are numbered from 1; the first one is the default.
	Versions []*LaunchTemplateVersion `json:"versions"`
}

// LaunchTemplateVersion is a version of a launch template.
type LaunchTemplateVersion struct {
	Description string    `json:"description,omitempty"`
	Created     time.Time `json:"created"`
	// Data are parameters of RunInstances, as they were sent.
	Data map[string]string `json:"data"`
}

// SnapshotGroup is a set of snapshots of the disks of an instance, taken at one time.
type SnapshotGroup struct {
	ID              string    `json:"id"`
	Name            string    `json:"name,omitempty"`
	Description     string    `json:"description,omitempty"`
	InstanceID      string    `json:"instanceId"`
	SnapshotIDs     []string  `json:"snapshotIds"`
	ResourceGroupID string    `json:"resourceGroupId,omitempty"`
	Tags            []Tag     `json:"tags,omitempty"`
	Created         time.Time `json:"created"`
}

// Task is a change that goes on after the answer to the call that began it.
type Task struct {
	ID         string    `json:"id"`
	Action     string    `json:"action"`
	ResourceID string    `json:"resourceId"`
	Created    time.Time `json:"created"`
	Ends       time.Time `json:"ends"`
}

// InterfacePermission lets another account attach a network interface to its instances.
type InterfacePermission struct {
	ID          string `json:"id"`
	InterfaceID string `json:"interfaceId"`
	AccountID   string `json:"accountId"`
	Permission  string `json:"permission"`
}
