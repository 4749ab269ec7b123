#!/bin/sh
# Starts the service with the settings of its runtime, which reads them before the service begins. `npm start` and billfold.service run this file.
# On a machine with over 16 GB the runtime would let its memory grow to three times what is in use; with this it is twice, as on smaller ones.
cd "$(dirname "$0")/.." || exit
exec env BUN_JSC_heapGrowthFunctionThresholdInMB=1000000 node_modules/.bin/bun src/main.ts "$@"
