// The declarations of all steps.
#pragma once

#include "reader/transform/augment.h"
#include "reader/transform/steps/colours.h"
#include "reader/transform/steps/crops.h"
#include "reader/transform/steps/numbers.h"
#include "reader/transform/steps/turns.h"
