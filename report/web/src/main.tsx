// Entry point of the page: of a report, or of a comparison.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import "./comparison/comparison.css";
import "./workload/workload.css";
import { render } from "preact";
import { App } from "./app";
import { followComparisonKeys } from "./comparison/keys";
import { ComparisonApp } from "./comparison/page";
import { followComparison } from "./comparison/state";
import { embeddedComparison } from "./data/comparison";
import { sourceOfPage } from "./data/source_of_page";
import { followKeys } from "./keys";
import { followAddress } from "./state";
import { followTheme } from "./theme";

const place = document.getElementById("app");
if (place) {
  place.replaceChildren();
  followTheme();
  if (place.dataset.page === "comparison") {
    followComparison();
    followComparisonKeys();
    render(<ComparisonApp source={embeddedComparison()} />, place);
  } else {
    followAddress();
    followKeys();
    render(<App source={sourceOfPage()} />, place);
  }
}
