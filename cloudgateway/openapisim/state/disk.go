package state

import (
	"strconv"
	"time"
)

// Number is an attribute that is a number; 0 if it is not set.
func (i *Instance) Number(name string) int {
	n, _ := strconv.Atoi(i.Attributes[name])
	return n
}

// Disk is a disk of block storage. One of the type system belongs to its instance from the beginning to the end.
type Disk struct {
	ID                 string    `json:"id"`
	Type               string    `json:"type"` // system, data
	Category           string    `json:"category"`
	Size               int       `json:"size"`   // in GiB
	Status             string    `json:"status"` // Creating, Available, Attaching, In_use, Detaching
	ZoneID             string    `json:"zoneId"`
	InstanceID         string    `json:"instanceId,omitempty"`
	Device             string    `json:"device,omitempty"`
	Name               string    `json:"name,omitempty"`
	Description        string    `json:"description,omitempty"`
	ImageID            string    `json:"imageId,omitempty"`
	SnapshotID         string    `json:"snapshotId,omitempty"` // from which it was made
	PerformanceLevel   string    `json:"performanceLevel,omitempty"`
	ProvisionedIops    int       `json:"provisionedIops,omitempty"`
	Bursting           bool      `json:"bursting,omitempty"`
	Encrypted          bool      `json:"encrypted,omitempty"`
	KMSKeyID           string    `json:"kmsKeyId,omitempty"`
	MultiAttach        bool      `json:"multiAttach,omitempty"`
	DeleteWithInstance bool      `json:"deleteWithInstance,omitempty"`
	DeleteAutoSnapshot bool      `json:"deleteAutoSnapshot,omitempty"`
	EnableAutoSnapshot bool      `json:"enableAutoSnapshot,omitempty"`
	ResourceGroupID    string    `json:"resourceGroupId,omitempty"` // a system disk is in that of its instance
	Tags               []Tag     `json:"tags,omitempty"`
	Created            time.Time `json:"created,omitzero"`
	Attached           time.Time `json:"attached,omitzero"`
	Detached           time.Time `json:"detached,omitzero"`

	// SettleTo is the status that the disk has from SettleAt on.
	SettleTo string    `json:"settleTo,omitempty"`
	SettleAt time.Time `json:"settleAt,omitzero"`
}

// Snapshot is what a disk held at a time.
type Snapshot struct {
	ID              string    `json:"id"`
	Name            string    `json:"name,omitempty"`
	Description     string    `json:"description,omitempty"`
	DiskID          string    `json:"diskId"`
	DiskType        string    `json:"diskType"`
	Size            int       `json:"size"`     // of the disk, in GiB
	Category        string    `json:"category"` // standard, flash
	RetentionDays   int       `json:"retentionDays,omitempty"`
	Encrypted       bool      `json:"encrypted,omitempty"`
	ResourceGroupID string    `json:"resourceGroupId,omitempty"`
	Tags            []Tag     `json:"tags,omitempty"`
	Created         time.Time `json:"created"`
	ReadyAt         time.Time `json:"readyAt,omitzero"` // it is progressing before
}

// KeyPair is a pair of keys for logging in to instances. Its id is its name.
type KeyPair struct {
	ID              string    `json:"id"`
	Fingerprint     string    `json:"fingerprint"`
	PublicKey       string    `json:"publicKey,omitempty"` // of imported ones
	ResourceGroupID string    `json:"resourceGroupId,omitempty"`
	Tags            []Tag     `json:"tags,omitempty"`
	Created         time.Time `json:"created,omitzero"`
}

// DeploymentSet spreads its instances over hosts.
type DeploymentSet struct {
	ID          string    `json:"id"`
	Name        string    `json:"name,omitempty"`
	Description string    `json:"description,omitempty"`
	Strategy    string    `json:"strategy"` // Availability, AvailabilityGroup, LowLatency
	GroupCount  int       `json:"groupCount,omitempty"`
	Created     time.Time `json:"created,omitzero"`
}
