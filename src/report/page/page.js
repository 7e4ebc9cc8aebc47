document.querySelectorAll(".commands").forEach(function(box){
  var button=document.createElement("button");button.type="button";button.textContent="Copy";
  button.addEventListener("click",function(){
    navigator.clipboard.writeText(box.querySelector("code").textContent).then(function(){
      button.textContent="Copied";setTimeout(function(){button.textContent="Copy"},1500)})});
  if(navigator.clipboard)box.appendChild(button)});
addEventListener("beforeprint",function(){document.querySelectorAll("details:not([open])").forEach(function(d){d.open=true;d.dataset.shut="1"})});
addEventListener("afterprint",function(){document.querySelectorAll("details[data-shut]").forEach(function(d){d.open=false})});
