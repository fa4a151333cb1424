// Command upstream runs Kubernetes' own end-to-end tests against our controllers. Its flags are those of Kubernetes'
// e2e.test; what runs, and why the rest does not, is in cases.csv, by which make e2e-kubernetes chooses. Its only
// argument is images, which prints the names of the images that pods of the tests have: agnhost and pause.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	testingmanifests "k8s.io/kubernetes/test/e2e/testing-manifests"
	"k8s.io/kubernetes/test/utils/image"

	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/network"
)

// verdict is what Ginkgo tells instead of a testing.T.
type verdict struct{ failed bool }

// Fail says that a case has failed.
func (v *verdict) Fail() { v.failed = true }

func main() {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	// Cases of sig-apps ask for one of few providers by name. This one has the name of one of them, and nothing else of it.
	framework.RegisterProvider("aws", func() (framework.ProviderInterface, error) { return framework.NullProvider{}, nil })
	flag.Parse()
	if flag.Arg(0) == "images" {
		fmt.Fprintln(os.Stdout, image.GetE2EImage(image.Agnhost), image.GetPauseImageName())
		return
	}
	testfiles.AddFileSource(testingmanifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	var v verdict
	if ran := ginkgo.RunSpecs(&v, "Kubernetes", suite, reporter); !ran || v.failed {
		os.Exit(1)
	}
}
