// The program for the generator go of openapi-generator.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	gateway "example.com/memory/gateway"
)

type object = map[string]interface{}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	var given struct {
		Metadata object
		Lines    string
	}
	must(0, json.Unmarshal([]byte(os.Getenv("GIVEN")), &given))
	configuration := gateway.NewConfiguration()
	configuration.Servers = gateway.ServerConfigurations{{URL: os.Getenv("URL")}}
	client := gateway.NewAPIClient(configuration)
	asking := context.WithValue(context.Background(), gateway.ContextAccessToken, os.Getenv("TOKEN"))

	fox := gateway.NewStoreRequest("bot", "a red fox")
	fox.Metadata = given.Metadata
	stored, _, err := client.MemoryAPI.Store(asking).StoreRequest(*fox).Execute()
	must(stored, err)
	question := *gateway.NewRecallRequest("bot", "fox")
	recalled, _, err := client.MemoryAPI.Recall(asking).RecallRequest(question).Execute()
	must(recalled, err)
	listed, _, err := client.DataAPI.ListMemories(asking).AgentId("bot").Execute()
	must(listed, err)
	must(0, os.WriteFile("lines", []byte(given.Lines), 0o600))
	report, _, err := client.TransferAPI.CallImport(asking).Body(must(os.Open("lines"))).Execute()
	must(report, err)
	exported, _, err := client.TransferAPI.Export(asking).Execute()
	must(exported, err)

	bear := gateway.NewStoreRequest("bot", "a bear")
	bear.SetExpiresAt(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	_, answer, err := client.MemoryAPI.Store(asking).StoreRequest(*bear).Execute()
	var failure *gateway.GenericOpenAPIError
	if !errors.As(err, &failure) {
		panic("it was not refused")
	}
	problem := failure.Model().(gateway.Problem)
	fields := []string{}
	for _, each := range problem.Errors {
		fields = append(fields, each.Field)
	}
	found, all := []object{}, []object{}
	for _, entry := range recalled.Entries {
		found = append(found, entry.Metadata)
	}
	for _, each := range listed.Memories {
		all = append(all, each.Metadata)
	}
	must(0, json.NewEncoder(os.Stdout).Encode(object{
		"stored":   stored.GetStored(),
		"recalled": found,
		"listed":   all,
		"report":   string(must(os.ReadFile(report.Name()))),
		"exported": string(must(os.ReadFile(exported.Name()))),
		"refused":  []interface{}{answer.StatusCode, problem.Code, fields},
	}))
}
