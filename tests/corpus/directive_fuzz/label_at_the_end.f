!$micp init
 1